"""`PipelineProgram`: a model whose layers are divided among devices, in one `tf.function`, as a `Program`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from modern.mirrored.input.replica_input import ReplicaInput
from modern.mirrored.state import tf1_rules
from modern.mirrored.state.variables import MirroredState
from modern.mirrored.step.step_tensors import StepTensors, Tensors, step_record
from modern.mirrored.traced_program import TracedProgram
from modern.model_parallel.step import PipelineStep
from modern.options import ModernOptions
from workloads import tracing
from workloads.job import Job
from workloads.program import StepRecord, initial_state
from workloads.sources import Source
from workloads.variable_spec import VariableSpec, initial_values


class PipelineProgram(TracedProgram):
    """Runs `job` with its layers on `devices`; its replicas are micro-batches.

    Args:
      job: the `Job`.
      source: of its batches.
      options: see `ModernOptions`.
      devices: device of each pipeline stage, e.g. ["CPU:0", "CPU:1"].
    """

    def __init__(self, job: Job, source: Source, options: ModernOptions, devices: Sequence[str]) -> None:
        options.configure_grappler()
        self._job, self._options = job, options
        self._layer_devices = ["/device:" + device for device in devices]
        self._specs = tracing.trace(job.workload, job.per_replica_batch, job.dtype)
        places = tracing.trace_devices(job.workload, job.per_replica_batch, job.dtype, self._layer_devices)
        strategy = tf.distribute.get_strategy()  # TensorFlow's default: this process, and no replicas
        state = initial_state(job, self._specs, initial_values(self._specs, job.seed))
        self._variables = MirroredState(strategy, state, places)
        self._rules = tf1_rules.Tf1Rules(job.workload.optimizer)
        self._pipeline_step = PipelineStep(job, options, self._variables, self._rules, self._layer_devices)
        self._input = ReplicaInput(job, source, strategy, range(job.replicas))
        self._resident = self._put_on_first_device(source) if self._input.resident else []
        self._step = 0

    def variables(self) -> tuple[VariableSpec, ...]:
        return self._specs

    def describe(self) -> dict[str, str]:
        return {
            "program": "one tf.function over all devices",
            "devices": ", ".join(device.replace("/device:", "") for device in self._layer_devices),
            "input": "resident" if self._input.resident else "dataset",
            "variables on": "their layer's device",
            "reduction": f"{self._options.average} of micro-batches, in order",
            "update rules": self._rules.describe(),
            "autodiff": self._options.describe_autodiff(),
            "steps per call": str(self._options.steps_per_call),
            "Grappler": self._options.describe_grappler(),
        }

    def step(self) -> StepRecord:
        self._start_observed()
        with self._user_ops():
            seen, batches = tf.nest.map_structure(lambda tensor: tensor.numpy(), self._observed(self._batches))
        self._step += 1
        return step_record(self._step - 1, seen, batches, self.state())

    def one_step(self) -> Callable[[], list[tf.Tensor]]:
        """A `tf.function` that takes one step and returns its losses, for looking at its graph or tracing its run."""
        self._start()
        return tf.function(self._run_once, autograph=False)

    def _observed_step(self) -> Any:
        return tf.function(self._run_observed, autograph=False)

    def _run_observed(self, source: Any) -> tuple[StepTensors, list[Tensors]]:
        batches = self._resident or [self._input.take(source) for _ in range(self._job.replicas)]
        return self._pipeline_step(batches), batches

    def _put_on_first_device(self, source: Source) -> list[Tensors]:
        """The micro-batches of a fixed source, which stay there; without replicas a strategy would hold one only."""
        with tf.device(self._layer_devices[0]):
            return [{name: tf.constant(value) for name, value in shard.items()} for shard in source.shards(0)]

    def _run_once(self) -> list[tf.Tensor]:
        return self._run_observed(self._batches)[0].loss
