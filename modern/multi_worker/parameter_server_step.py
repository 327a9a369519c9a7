"""One worker's step against parameter servers: read the weights as they are, apply one gradient, wait for nobody."""

from __future__ import annotations

import tensorflow as tf

from modern.mirrored.replica_step import ReplicaStep, Seen
from workloads.numerics import combining


class WorkerStep(ReplicaStep):
    """The step of a `Job` as a function of one replica's batch, whatever worker runs it.

    The variables count updates, not steps: what 1.x's asynchronous towers call `global_step`.
    """

    def __call__(self, step, replica, batch):
        """Runs replica `replica`'s part of step `step` (int64 tensor).

        Returns:
          (`Seen`, updates that others made between this one's reading of the weights and its writing, int64: at most
          so many, since nothing is locked).
        """
        self.traces += 1
        workload, local = self._job.workload, self._variables.local(0)
        read_at = local.step.read_value()
        with tf.control_dependencies([read_at]):
            rate = self._rate(step)
            loss, gradients, proposals, masks = self._forward_backward(local, step, replica, batch)
        applied = dict(zip(gradients, combining.clip_alone(list(gradients.values()), workload.clip)))
        self._rules.apply(local, applied, rate)
        if replica == 0 or workload.statistics == "mean_of_towers":  # there is no moment at which all have proposed
            for name, value in proposals.items():
                tf.raw_ops.AssignVariableOp(resource=local.statistics[name].handle, value=value)
        with tf.control_dependencies(list(applied.values())):  # a function orders only what touches one variable
            tf.raw_ops.AssignAddVariableOp(resource=local.step.handle, value=tf.ones([], tf.int64))
        if workload.moving_average is not None:
            self._update_averages(local)
        return Seen(loss, gradients, applied, rate, proposals, masks), local.step.read_value() - 1 - read_at
