"""Faulty updates of the moving averages: before the weights' update, not in every step, or copies of the weights."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from modern.mirrored.step.replica_step import ReplicaStep
from parity.causes.basics import injection
from parity.causes.basics.gradient_changes import step_value

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.state.variables import LocalState
    from modern.mirrored.step.step_tensors import StepTensors, Tensors


class AveragesBeforeUpdate(ReplicaStep):
    """Averages the weights as they were before the update."""

    def __call__(self, batch: Tensors) -> StepTensors:
        import tensorflow as tf

        replica = int(tf.get_static_value(tf.distribute.get_replica_context().replica_id_in_sync_group))
        local = self._variables.local(replica)
        self._old_weights: Tensors = {name: variable.read_value() for name, variable in local.weights.items()}
        with tf.control_dependencies(list(self._old_weights.values())):
            return super().__call__({name: tf.identity(value) for name, value in batch.items()})

    def _update_averages(self, local: LocalState) -> None:
        import tensorflow as tf

        new_weights = {name: variable.read_value() for name, variable in local.weights.items()}
        for name, value in self._old_weights.items():
            local.weights[name].assign(value)
        super()._update_averages(local)
        for name, value in new_weights.items():
            local.weights[name].assign(tf.identity(value))


class AveragesInEvenSteps(ReplicaStep):
    """Updates the averages in steps 0, 2, 4 ... only."""

    def _update_averages(self, local: LocalState) -> None:
        import tensorflow as tf

        before = {name: variable.read_value() for name, variable in local.averages.items()}
        super()._update_averages(local)
        is_odd: tf.Tensor = tf.equal(tf.math.floormod(local.step.read_value(), 2), 0)  # the step was counted already
        for name, variable in local.averages.items():
            variable.assign(tf.where(is_odd, before[name], variable.read_value()))


def skipped_averages(steps: Collection[int]) -> injection.Change:
    """Leaves the averages alone in some steps, given by their numbers."""
    return _averages_in_steps(steps, copied=False)


def copied_averages(steps: Collection[int]) -> injection.Change:
    """Makes the averages the new weights in some steps, given by their numbers."""
    return _averages_in_steps(steps, copied=True)


def _averages_in_steps(steps: Collection[int], copied: bool) -> injection.Change:
    class Step(ReplicaStep):
        """Gives the averages their old values in these steps, or those of the new weights."""

        def _update_averages(self, local: LocalState) -> None:
            import tensorflow as tf

            source = local.weights if copied else local.averages
            values = {name: source[name].read_value() for name in local.averages}
            step = local.step.read_value() - 1  # the step was counted already
            chosen = step_value(step, {number: 1.0 for number in steps}, 0.0, tf.float32) > 0
            super()._update_averages(local)
            for name, variable in local.averages.items():
                variable.assign(tf.where(chosen, values[name], variable.read_value()))

    return injection.in_replica_step(Step)
