"""`LiftedProgram`: an old program's own graph under a `tf.distribute` strategy."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from modern.collectives import all_reduce
from modern.collectives.strategy import mirrored_strategy
from modern.lifted.function import Tensors
from modern.lifted.port_step import PortStep
from modern.lifted.step import LiftedStep, LiftedStepTensors
from modern.mirrored.in_turn_program import InTurnProgram
from modern.mirrored.input.replica_input import ReplicaInput
from modern.mirrored.state.variables import MirroredState
from modern.mirrored.step.step_tensors import replica_arrays
from modern.options import ModernOptions
from workloads.job import Job
from workloads.lifted.replication import require_whole_loops
from workloads.lifted.tensors.lift_taps import find_taps
from workloads.lifted.workload import as_lifted, op_errors_as_input_errors
from workloads.program import Arrays, StepRecord
from workloads.records.writer import batch_digest
from workloads.sources import Source
from workloads.variable_spec import VariableSpec


class LiftedProgram(InTurnProgram):
    """Runs a lifted `job` under `MirroredStrategy`.

    Args:
      job: a `Job` of a `LiftedWorkload`.
      source: `Source` of its batches.
      options: `ModernOptions`.
      devices: device of each replica.
    """

    def __init__(self, job: Job, source: Source, options: ModernOptions, devices: Sequence[str]) -> None:
        options.configure_grappler()
        self._job, self._options, self._devices = job, options, devices
        self._workload = as_lifted(job.workload)
        self._plan = self._workload.plan
        self.strategy = mirrored_strategy(devices, options)
        start = self._workload.initial_state()
        port = self._workload.port
        if port is None:
            require_whole_loops(self._plan)
        owners = None if port is None else port.workload.owners()
        self._variables = MirroredState(self.strategy, start, owners=owners)
        phases = range(len(self._plan.phases))
        taps = find_taps(self._workload, options.taps)
        self._steps: list[LiftedStep | PortStep] = (
            [LiftedStep(job, i, self._variables, options, source.noise, taps[i]) for i in phases]
            if port is None
            else [PortStep(job, i, self._variables) for i in phases]
        )
        self._made_up_scalars = source.made_up_scalars
        self._input = ReplicaInput(job, source, self.strategy, range(job.replicas))
        self._step = start.step
        # Variables of one tower, such as a recurrent state, differ between the replicas that run its graph.
        self._states = {v.name for v in self._plan.variables if v.role == "state"}

    def variables(self) -> tuple[VariableSpec, ...]:
        return self._workload.variables()

    def describe(self) -> dict[str, str]:
        options = self._options
        return {
            "program": "tf.distribute.MirroredStrategy",
            "devices": ", ".join(self._devices),
            "input": "resident" if self._input.resident else "dataset",
            "variables on": "every replica",
            "reduction": self._reduction(),
            "update rules": self._workload.update_rules() if self._workload.port is None else "written",
            "autodiff": self._autodiff(),
            "steps per call": str(options.steps_per_call),
            "Grappler": options.describe_grappler(),
        }

    def _autodiff(self) -> str:
        if self._workload.losses or self._workload.port is not None:
            return "tf.gradients of the written losses"
        return "tf.gradients of the lifted loss" if self._options.autodiff == "new" else "the graph's own gradients"

    def _reduction(self) -> str:
        return self._steps[0].describe_reduction(all_reduce.describe_all_reduce(self.strategy))

    def step(self) -> StepRecord:
        self._start_observed()
        with self._user_ops():
            results, batch = self._observed[self._number](self._batches)
        local = self.strategy.experimental_local_results
        state, drift = self._variables.read()
        replicas = range(self._job.replicas)
        record = StepRecord(
            step=self._step,
            digests=[batch_digest(shard) for shard in replica_arrays(self.strategy, batch, len(replicas))],
            losses=[np.asarray(loss) for loss in local(results.losses[0])] if results.losses else [],
            gradients=[self._gradients(local, results, r) for r in replicas],
            combined={name: local(value)[0].numpy() for name, value in results.combined.items()},
            learning_rate=np.array([local(rate)[0].numpy() for rate in results.learning_rates]),
            state=state,
            drift=[name for name in drift if name not in self._states],
            taps=self._tapped(local, results.taps),
            tap_gradients=self._tapped(local, results.tap_gradients),
            tap_readers=self._steps[self._number].taps.readers,
        )
        self._step += 1
        return record

    def _gradients(
        self, local: Callable[[Any], Sequence[tf.Tensor]], results: LiftedStepTensors, replica: int
    ) -> Arrays:
        """Returns the gradients that a replica's own tower has."""
        labels = self._plan.phases[self._number].gradients[self._steps[self._number].tower(replica)]
        return {label: local(results.gradients[label])[replica].numpy() for label in labels}

    def _tapped(self, local: Callable[[Any], Sequence[tf.Tensor]], values: Tensors) -> list[Arrays]:
        """Returns each replica's {tap: array}, in the order of the forward pass; nothing where taps are off."""
        taps = self._steps[self._number].taps.taps
        names = [tap.name for tap in taps if tap.name in values]
        replicas = range(self._job.replicas if taps else 0)
        return [{name: local(values[name])[replica].numpy() for name in names} for replica in replicas]

    def _user_ops(self) -> contextlib.AbstractContextManager[None]:
        return op_errors_as_input_errors("the port", lambda: self._input.failure, self._made_up_scalars)

    def traces(self) -> int:
        """Returns the number of times that a step was traced in Python so far."""
        return sum(step.traces for step in self._steps)

    def _loss_dtype(self) -> str:
        losses = self._plan.phases[0].losses
        return self._plan.tensors[losses[0]].dtype if losses else "float32"
