"""Changes that inject a fitted difference of the update into a clean port: length, decay, steps, weights, rate."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from parity.causes.basics import injection
from parity.causes.basics.gradient_changes import step_value

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.state.update_rules import UpdateRules
    from modern.mirrored.state.variables import LocalState
    from modern.mirrored.step.step_tensors import Tensors
    from workloads.job import Job

#: Function from (old value, new value, learning rate) of a weight to the value to assign.
Correct = Callable[[Any, Any, Any], Any]


class _CorrectedWeights(injection.WrappedRules):
    """Corrects the weights after each update.

    Args:
      rules: the rules to wrap.
      correct: gives the values to assign.
      names: weights to correct; empty for all.
    """

    def __init__(self, rules: UpdateRules, correct: Correct, names: Collection[str] = ()) -> None:
        super().__init__(rules)
        self._correct, self._names_to_correct = correct, names

    def apply(self, local: LocalState, gradients: Tensors, rate: tf.Tensor) -> None:
        import tensorflow as tf

        names = [name for name in gradients if not self._names_to_correct or name in self._names_to_correct]
        before = {name: local.weights[name].read_value() for name in names}
        with tf.control_dependencies(list(before.values())):
            self._rules.apply(local, gradients, rate)
        for name, old in before.items():
            new = local.weights[name].read_value()
            local.weights[name].assign(self._correct(old, new, tf.cast(rate, old.dtype)))


def scaled_updates(factor: float) -> injection.Change:
    """Injects a factor of each change of the weights."""
    return _corrected(lambda old, new, rate: old + factor * (new - old))


def scaled_updates_of(factors: Mapping[str, float]) -> injection.Change:
    """Injects a factor of the change of some weights, given as {weight: factor}."""

    def scaled_by(factor: float) -> Correct:
        return lambda old, new, rate: old + factor * (new - old)

    changes = [_corrected(scaled_by(factor), (name,)) for name, factor in factors.items()]
    return sum(changes, injection.Change())


def untrained_weights(names: Collection[str], with_slots: bool = False) -> injection.Change:
    """Injects weights that keep their values; and their slots, too, of an optimizer that does not know them."""
    if with_slots:
        return injection.in_update_rules(lambda rules: _WithoutWeights(rules, names))
    return _corrected(lambda old, new, rate: old, names)


class _WithoutWeights(injection.WrappedRules):
    """Leaves out some weights and their slots.

    Args:
      rules: the rules to wrap.
      names: of the weights.
    """

    def __init__(self, rules: UpdateRules, names: Collection[str]) -> None:
        super().__init__(rules)
        self._left_out = names

    def apply(self, local: LocalState, gradients: Tensors, rate: tf.Tensor) -> None:
        self._rules.apply(local, {name: g for name, g in gradients.items() if name not in self._left_out}, rate)


def decoupled_decay(rate_of_decay: float) -> injection.Change:
    """Injects a decay that subtracts so many times the learning rate of every weight from it."""
    return _corrected(lambda old, new, rate: new - rate * rate_of_decay * old)


def _corrected(correct: Correct, names: Collection[str] = ()) -> injection.Change:
    return injection.in_update_rules(lambda rules: _CorrectedWeights(rules, correct, names))


class _SkippedUpdates(injection.WrappedRules):
    """Updates neither weights nor slots in some steps.

    Args:
      rules: the rules to wrap.
      steps: numbers of the steps.
    """

    def __init__(self, rules: UpdateRules, steps: Collection[int]) -> None:
        super().__init__(rules)
        self._skipped = {step: 1.0 for step in steps}

    def apply(self, local: LocalState, gradients: Tensors, rate: tf.Tensor) -> None:
        import tensorflow as tf

        variables = [*local.weights.values(), *local.slots.values()]
        before = [variable.read_value() for variable in variables]
        skipped = step_value(local.step.read_value(), self._skipped, 0.0, tf.float32) > 0
        with tf.control_dependencies(before):
            self._rules.apply(local, gradients, rate)
        for variable, old in zip(variables, before):
            variable.assign(tf.where(skipped, old, variable.read_value()))


def skipped_updates(steps: Collection[int]) -> injection.Change:
    """Injects steps that change neither weights nor slots."""
    return injection.in_update_rules(lambda rules: _SkippedUpdates(rules, steps))


@dataclasses.dataclass(frozen=True)
class RecordedRates:
    """A schedule that gives each step its recorded learning rate, and `inner`'s to steps without one."""

    inner: Any
    rates: Mapping[int, float]

    def __call__(self, step: tf.Tensor, global_batch: int) -> tf.Tensor:
        import tensorflow as tf

        known = step_value(step, self.rates, float("nan"), tf.float32)
        return tf.where(tf.math.is_nan(known), self.inner(step, global_batch), known)


def recorded_rates(rates: Mapping[int, float]) -> injection.Change:
    """Injects the learning rates {step: rate} that were recorded."""
    return in_schedule(lambda job: RecordedRates(job.workload.learning_rate, rates))


def in_schedule(make: Callable[[Job], Any]) -> injection.Change:
    """Changes the port's schedule: `make(job)` returns the new one."""
    return injection.in_workload(lambda job: {"learning_rate": make(job)})


def change_optimizer(**constants: Any) -> injection.Change:
    """Changes constants of the port's optimizer."""
    return injection.in_workload(lambda job: {"optimizer": dataclasses.replace(job.workload.optimizer, **constants)})
