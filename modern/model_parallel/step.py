"""Pipelined training step: one function with layers on several devices, which work on micro-batches concurrently."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import tensorflow as tf

from modern.mirrored.step.step_tensors import StepTensors, Tensors
from modern.mirrored.step.training_step import TrainingStep
from modern.options import ModernOptions
from workloads.job import Job
from workloads.numerics import combining, statistics

if TYPE_CHECKING:
    from modern.mirrored.state.update_rules import UpdateRules
    from modern.mirrored.state.variables import LocalState, MirroredState


class PipelineStep(TrainingStep):
    """The step of a `Job` as a function of all its replicas' batches; here a replica is a micro-batch.

    A device works on one micro-batch while the next device works on the one before: the function is a graph, and ops
    that do not depend on each other run at the same time.

    Args:
      job: the `Job`.
      options: see `ModernOptions`.
      variables: one copy of the variables, each on its layer's device.
      rules: updates weights and slots from combined gradients.
      layer_devices: device of each pipeline stage.
    """

    def __init__(
        self,
        job: Job,
        options: ModernOptions,
        variables: MirroredState,
        rules: UpdateRules,
        layer_devices: Sequence[str],
    ) -> None:
        super().__init__(job, options, variables, rules)
        self.layer_devices = tuple(layer_devices)

    def __call__(self, batches: Sequence[Tensors]) -> StepTensors:
        """Runs the step on {input name: tensor} of each micro-batch; returns lists over micro-batches."""
        self.traces += 1
        local = self._variables.local(0)
        step = local.step.read_value()
        rate = self._rate(step)
        passes = [self._forward_backward(local, step, number, batch) for number, batch in enumerate(batches)]
        losses, gradients, updates, masks = (list(part) for part in zip(*passes))
        beside = {name: weight.device for name, weight in local.weights.items()}
        workload = self._job.workload
        combined = combining.combine_gradients(
            gradients, workload.combine, workload.clip, self._options.average, beside
        )
        self._rules.apply(local, combined, rate)
        self._update_statistics(local, updates)
        self._count_step(local)
        self._update_averages(local)
        return StepTensors(losses, gradients, combined, rate, updates, masks)

    def _update_statistics(self, local: LocalState, updates: Sequence[Tensors]) -> None:
        """Assigns the statistics from the micro-batches' proposals, as the workload says."""
        changes = [statistics.changes_of(own) for own in updates]
        values = {name: local.statistics[name].read_value() for name in changes[0]}
        policy, form = self._job.workload.statistics, self._options.average
        for name, value in statistics.next_statistics(policy, updates, changes, values, form).items():
            tf.raw_ops.AssignVariableOp(resource=local.statistics[name].handle, value=value)
