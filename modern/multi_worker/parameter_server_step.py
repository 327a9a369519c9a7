"""One worker's asynchronous step: reads the weights as they are, applies its own gradient, and waits for nobody."""

from __future__ import annotations

import tensorflow as tf

from modern.mirrored.step.step_tensors import StepTensors, Tensors
from modern.mirrored.step.training_step import TrainingStep
from workloads.numerics import combining
from workloads.numerics.statistics import takes_proposals_of


class WorkerStep(TrainingStep):
    """The step of a `Job` as a function of one replica's batch, whatever worker runs it.

    The variable `step` counts updates, not steps, as `global_step` does for 1.x's asynchronous towers.
    """

    def __call__(self, step: tf.Tensor, replica: int, batch: Tensors) -> tuple[StepTensors, tf.Tensor]:
        """Runs one replica's part of a step.

        Args:
          step: int64 scalar tensor.
          replica: number of the replica.
          batch: {input name: tensor [per-replica batch, *shape]}.

        Returns:
          The step's values; and the updates that others made between this one's reading of the weights and its
          writing, int64: an upper bound, since nothing is locked.
        """
        self.traces += 1
        workload, local = self._job.workload, self._variables.local(0)
        read_at = local.step.read_value()
        with tf.control_dependencies([read_at]):
            rate = self._rate(step)
            loss, gradients, proposals, masks = self._forward_backward(local, step, replica, batch)
        applied = dict(zip(gradients, combining.clip_alone(list(gradients.values()), workload.clip)))
        self._rules.apply(local, applied, rate)
        if takes_proposals_of(workload.statistics, replica, self._job.replicas):  # at no moment all have proposed
            for name, value in proposals.items():
                tf.raw_ops.AssignVariableOp(resource=local.statistics[name].handle, value=value)
        with tf.control_dependencies(list(applied.values())):  # a function orders only what touches one variable
            self._count_step(local)
        self._update_averages(local)
        return StepTensors(loss, gradients, applied, rate, proposals, masks), local.step.read_value() - 1 - read_at
