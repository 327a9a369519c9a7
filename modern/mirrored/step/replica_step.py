"""One synchronous training step as one replica runs it, under `strategy.run`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from modern.collectives import exchange
from modern.mirrored.step.step_tensors import StepTensors, Tensors
from modern.mirrored.step.training_step import TrainingStep
from modern.options import ModernOptions
from workloads.job import Job
from workloads.numerics import combining, statistics
from workloads.numerics.statistics import LAST_TOWER, MEAN_OF_TOWERS, TOWERS_IN_TURN

if TYPE_CHECKING:
    from modern.mirrored.state.update_rules import UpdateRules
    from modern.mirrored.state.variables import LocalState, MirroredState


class ReplicaStep(TrainingStep):
    """The step of a `Job` as a function of one replica's batch.

    Args:
      job: the `Job`.
      options: see `ModernOptions`.
      variables: the variables, mirrored or shared. The first replica updates shared ones, after the all-reduce: all
        replicas have read them by then.
      rules: updates weights and slots from combined gradients.
      first: number of the first replica in this process.
    """

    def __init__(
        self, job: Job, options: ModernOptions, variables: MirroredState, rules: UpdateRules, first: int = 0
    ) -> None:
        super().__init__(job, options, variables, rules)
        self._first = first

    def __call__(self, batch: Tensors) -> StepTensors:
        """Runs the step on {input name: tensor [per-replica batch, *shape]}."""
        self.traces += 1
        self.eager = tf.executing_eagerly()
        context = tf.distribute.get_replica_context()
        replica = int(tf.get_static_value(context.replica_id_in_sync_group))
        local = self._variables.local(replica - self._first)
        step = local.step.read_value()
        rate = self._rate(step)
        loss, gradients, updates, masks = self._forward_backward(local, step, replica, batch)
        combined = self._update(context, local, step, gradients, rate)
        self._update_statistics(context, local, updates)
        if local.updates:
            self._count_step(local)
            self._update_averages(local)
        return StepTensors(loss, gradients, combined, rate, dict(updates), masks, *self.taps.pop(local.replica, ()))

    def _update(
        self,
        context: tf.distribute.ReplicaContext,
        local: LocalState,
        step: tf.Tensor,
        gradients: Tensors,
        rate: tf.Tensor,
    ) -> Tensors:
        """Updates weights and slots.

        Args:
          context: the replica's context.
          local: the replica's variables.
          step: int64 scalar tensor.
          gradients: {weight: this replica's gradient}.
          rate: learning rate, float32 scalar.

        Returns:
          {weight: gradient that the optimizer got}.
        """
        combined = self._combine(context, gradients)
        if local.updates:
            self._rules.apply(local, combined, rate)
        return combined

    def _combine(self, context: tf.distribute.ReplicaContext, gradients: Tensors) -> Tensors:
        """Clips, all-reduces and clips again, as the workload says; returns {weight: gradient for the optimizer}."""
        workload = self._job.workload
        clipped = combining.clip(list(gradients.values()), workload.clip, "tower")
        how = tf.distribute.ReduceOp.MEAN if workload.combine == "mean" else tf.distribute.ReduceOp.SUM
        combined = exchange.all_reduce(context, how, clipped)
        return dict(zip(gradients, combining.clip(combined, workload.clip, "combined")))

    def _update_statistics(self, context: tf.distribute.ReplicaContext, local: LocalState, updates: Tensors) -> None:
        """Assigns the statistics from the replicas' proposals `updates`, as the workload says."""
        if not updates:
            return
        if self._job.workload.statistics == TOWERS_IN_TURN:
            self._update_in_turn(context, local, statistics.changes_of(updates))
            return
        values, policy = list(updates.values()), self._job.workload.statistics
        if policy == MEAN_OF_TOWERS:
            values = exchange.all_reduce(context, tf.distribute.ReduceOp.MEAN, values)
        else:
            values = exchange.from_replica(context, values, -1 if policy == LAST_TOWER else 0)
        self._assign_statistics(local, dict(zip(updates, values)))

    def _update_in_turn(
        self, context: tf.distribute.ReplicaContext, local: LocalState, changes: statistics.Changes
    ) -> None:
        """Assigns the statistics after each replica's change in turn, which takes an exchange for each replica."""
        values = [local.statistics[name].read_value() for name in changes]
        for replica in range(context.num_replicas_in_sync):
            made = [change(value) for change, value in zip(changes.values(), values)]
            values = exchange.from_replica(context, made, replica)
        self._assign_statistics(local, dict(zip(changes, values)))

    def _assign_statistics(self, local: LocalState, values: Tensors) -> None:
        for name, value in values.items() if local.updates else ():
            tf.raw_ops.AssignVariableOp(resource=local.statistics[name].handle, value=value)
