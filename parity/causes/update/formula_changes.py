"""Change that injects another formula of the update, such as another library's, into a clean port.

The weights' change is the formula's, and so is a slot that holds it; the other slots are the optimizer's own. The
change is computed in numpy and float64, by the same functions that the diagnosis tries on records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from parity.causes.basics import injection
from workloads.optimizers import ObservedUpdate, Optimizer, UpdateForm

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.state.update_rules import UpdateRules
    from modern.mirrored.state.variables import LocalState
    from modern.mirrored.step.step_tensors import Tensors


class _ByFormula(injection.WrappedRules):
    """Moves the weights by a formula of the gradient, the slots and the learning rate.

    Args:
      rules: the rules that update the slots.
      form: name of the formula.
      optimizer: has the formula, and says which slots and powers it reads.
    """

    def __init__(self, rules: UpdateRules, form: UpdateForm, optimizer: Optimizer) -> None:
        super().__init__(rules)
        self._formula, self._optimizer = optimizer.update_forms()[form], optimizer
        self._held = optimizer.change_slot(form)
        self._previous: dict[tuple[int, str], ObservedUpdate] = {}

    def apply(self, local: LocalState, gradients: Tensors, rate: tf.Tensor) -> None:
        import tensorflow as tf

        kinds = list(self._optimizer.slots())
        powers = [local.slots[name].read_value() for name in self._optimizer.accumulators()]
        step = local.step.read_value()
        before = {
            name: [local.weights[name].read_value(), *[local.slots[f"{name}/{kind}"].read_value() for kind in kinds]]
            for name in gradients
        }
        self._rules.apply(local, gradients, rate)
        for name, gradient in gradients.items():
            new = [local.slots[f"{name}/{kind}"].read_value() for kind in kinds]
            wide = [tf.cast(value, tf.float64) for value in [gradient, *before[name], *new, rate, *powers]]

            def move(number: np.ndarray, *values: np.ndarray, name: str = name) -> np.ndarray:
                return self._change(local.replica, name, int(number), values)

            change = tf.ensure_shape(tf.numpy_function(move, [step, *wide], tf.float64), gradient.shape)
            old = tf.cast(before[name][0], tf.float64)
            local.weights[name].assign(tf.cast(old + change, gradient.dtype))
            if self._held is not None:
                value = self._held.value_of(change, tf.cast(rate, tf.float64))
                local.slots[f"{name}/{self._held.slot}"].assign(tf.cast(value, gradient.dtype))

    def _change(self, replica: int, name: str, step: int, values: Sequence[np.ndarray]) -> np.ndarray:
        """Returns a weight's change, of its gradient, its old value, old and new slots, learning rate and powers."""
        kinds = list(self._optimizer.slots())
        gradient, weight, *others = values
        old, new, rest = others[: len(kinds)], others[len(kinds) : 2 * len(kinds)], others[2 * len(kinds) :]
        previous = self._previous.get((replica, name))
        update = ObservedUpdate(
            step=step,
            learning_rate=float(rest[0]),
            names=[name],
            sizes=[int(np.size(weight))],
            shapes=[np.shape(weight)],
            gradient=np.ravel(gradient),
            weights=np.ravel(weight),
            change=np.zeros(np.size(weight)),
            old=dict(zip(kinds, map(np.ravel, old))),
            new=dict(zip(kinds, map(np.ravel, new))),
            powers=[float(power) for power in rest[1:]],
            previous=previous if previous is not None and previous.step == step - 1 else None,
        )
        self._previous[replica, name] = update
        change = self._formula(update)
        return np.zeros(np.shape(weight)) if change is None else np.reshape(change, np.shape(weight))


def updates_by_formula(form: UpdateForm, optimizer: Optimizer) -> injection.Change:
    """Injects a formula of the weights' change.

    Args:
      form: one of `optimizer.update_forms()`.
      optimizer: of the port, which goes on updating its other slots.

    Returns:
      the change.
    """
    return injection.in_update_rules(lambda rules: _ByFormula(rules, form, optimizer))


def form_named(optimizer: Optimizer, name: str) -> UpdateForm | None:
    """Returns the form of an optimizer's update with this name, or None."""
    return next((form for form in optimizer.update_forms() if form.name == name), None)
