"""`StagesProgram`: a model whose layers are divided among devices, in one `tf.function`, as a `Program`."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from modern.mirrored import step_loop, update_rules
from modern.mirrored.inputs import ReplicaInput
from modern.mirrored.traced_program import TracedProgram
from modern.mirrored.variables import MirroredState
from modern.model_parallel.step import StagesStep
from workloads import scope
from workloads.program import StepRecord, initial_state
from workloads.records.writer import batch_digest, example_ids


class StagesProgram(TracedProgram):
    """Runs `job` with its layers on `devices`; its replicas are micro-batches.

    Args:
      job: the `Job`.
      source: `sources.Source` of its batches.
      options: `ModernOptions`.
      devices: device of each stage, e.g. ["CPU:0", "CPU:1"].
    """

    def __init__(self, job, source, options, devices):
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": options.exact})
        self._job, self._options = job, options
        self._stages = ["/device:" + device for device in devices]
        self._specs = scope.trace(job.workload, job.per_replica_batch, job.dtype)
        places = scope.trace_devices(job.workload, job.per_replica_batch, job.dtype, self._stages)
        self._strategy = tf.distribute.get_strategy()  # TensorFlow's default: this process, and no replicas
        state = initial_state(job, self._specs, scope.initial_values(self._specs, job.seed))
        self._variables = MirroredState(self._strategy, state, places)
        rules = update_rules.Tf1Rules(job.workload.optimizer)
        self._stages_step = StagesStep(job, options, self._variables, rules, self._stages)
        self._input = ReplicaInput(job, source, self._strategy, range(job.replicas))
        self._step = 0

    def variables(self):
        return self._specs

    def describe(self):
        return {
            "program": "one tf.function over all devices",
            "devices": ", ".join(device.replace("/device:", "") for device in self._stages),
            "input": "resident" if self._input.resident else "dataset",
            "variables on": "their layer's device",
            "reduction": f"{self._options.average} of micro-batches, in order",
            "update rules": "tf1: the kernels of tf.compat.v1.train",
            "autodiff": "tf.gradients" if self._options.autodiff == "graph" else "tf.GradientTape",
            "steps per call": str(self._options.steps_per_call),
            "Grappler": "off" if self._options.exact else "on",
        }

    def step(self):
        self._start()
        seen, batches = tf.nest.map_structure(lambda tensor: tensor.numpy(), self._observed())
        self._step += 1
        return StepRecord(
            step=self._step - 1,
            digests=[batch_digest(batch) for batch in batches],
            losses=[np.asarray(loss) for loss in seen.loss],
            gradients=seen.gradients,
            combined=seen.combined,
            learning_rate=np.asarray(seen.learning_rate),
            state=self.state(),
            examples=[example_ids(batch) for batch in batches],
            masks=seen.masks,
            proposals=seen.proposals,
        )

    def run(self, steps):
        self._start()
        if self._many is None:
            self._many = step_loop.many(lambda: self._run_once()[0].loss, self._job.replicas, self._job.dtype)
        losses = step_loop.run(self._many, steps, self._options.steps_per_call)
        self._step += steps
        return losses

    def one_step(self):
        """A function that takes one step and gives its losses; for who wants to look at its graph or at its run."""
        self._start()
        return tf.function(lambda: self._run_once()[0].loss, autograph=False)

    def _start(self):
        if self._batches is None:
            self._batches = self._input.start(self._step)
            self._observed = tf.function(self._run_once, autograph=False)
            self._many = None

    def _run_once(self):
        batches = [self._input.take(self._batches) for _ in range(self._job.replicas)]
        return self._stages_step(batches), batches
