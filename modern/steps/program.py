"""`StepProgram`: a workload with a step of its own under `MirroredStrategy`."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from modern.collectives import all_reduce
from modern.collectives.strategy import mirrored_strategy
from modern.mirrored.in_turn_program import InTurnProgram
from modern.mirrored.input.replica_input import ReplicaInput
from modern.mirrored.state.variables import MirroredState
from modern.mirrored.step.step_tensors import Tensors, replica_arrays
from modern.options import ModernOptions
from modern.steps.replica import run_train_op
from workloads.job import Job
from workloads.numerics.random_keys import noise_key
from workloads.program import StepRecord
from workloads.records.writer import batch_digest
from workloads.sources import Source
from workloads.steps.tracing import first_state, trace_step
from workloads.steps.workload import as_steps
from workloads.variable_spec import VariableSpec


class StepResults(NamedTuple):
    """The observed values of one replica's step.

    Attributes:
      losses: its loss, a scalar or a value for each example.
      gradients: {weight: gradient}.
    """

    losses: list[tf.Tensor]
    gradients: Tensors


class StepProgram(InTurnProgram):
    """Runs a `job` whose workload has a step of its own.

    Args:
      job: a `Job` of a `StepWorkload`.
      source: of its batches.
      options: see `ModernOptions`.
      devices: device of each replica.
    """

    def __init__(self, job: Job, source: Source, options: ModernOptions, devices: Sequence[str]) -> None:
        options.configure_grappler()
        self._job, self._options, self._devices = job, options, devices
        self._workload = as_steps(job.workload)
        self._specs = trace_step(self._workload, job.per_replica_batch, job.replicas).specs
        self.strategy = mirrored_strategy(devices, options)
        state = first_state(self._workload, self._specs, job.seed)
        self._variables = MirroredState(self.strategy, state, owners=self._workload.owners())
        self._steps = [_Step(job, number, self._variables) for number in range(len(self._workload.train_ops()))]
        self._input = ReplicaInput(job, source, self.strategy, range(job.replicas))
        self._step = 0

    def variables(self) -> tuple[VariableSpec, ...]:
        return self._specs

    def describe(self) -> dict[str, str]:
        return {
            "program": "tf.distribute.MirroredStrategy",
            "devices": ", ".join(self._devices),
            "input": "resident" if self._input.resident else "dataset",
            "variables on": "every replica",
            "reduction": "written, with " + all_reduce.describe_all_reduce(self.strategy),
            "update rules": "written",
            "autodiff": "tf.gradients",
            "steps per call": str(self._options.steps_per_call),
            "Grappler": self._options.describe_grappler(),
        }

    def step(self) -> StepRecord:
        self._start_observed()
        with self._user_ops():
            results, batch = self._observed[self._number](self._batches)
        losses = self.strategy.experimental_local_results(results.losses[0])
        replicas = self._job.replicas
        record = StepRecord(
            step=self._step,
            digests=[batch_digest(shard) for shard in replica_arrays(self.strategy, batch, replicas)],
            losses=[np.asarray(loss) for loss in losses],
            gradients=replica_arrays(self.strategy, results.gradients, replicas),
            combined={},
            learning_rate=np.zeros([], np.float32),
            state=self.state(),
        )
        self._step += 1
        return record


class _Step:
    """One train op as a function of one replica's batch."""

    def __init__(self, job: Job, number: int, variables: MirroredState) -> None:
        self._job, self._number, self._variables = job, number, variables

    def __call__(self, batch: Tensors) -> StepResults:
        context = tf.distribute.get_replica_context()
        replica = int(tf.get_static_value(context.replica_id_in_sync_group))
        local = self._variables.local(replica)
        keys = functools.partial(noise_key, self._job.seed)
        found = run_train_op(as_steps(self._job.workload), self._number, local, batch, keys)
        return StepResults([found.loss], {n: tf.convert_to_tensor(g) for n, g in found.gradients.items()})
