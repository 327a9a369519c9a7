"""Update rules as other libraries compute them, to inject their forms of 1.x's optimizers into the port.

Each writes 1.x's slots, so that a record of it can be compared, and keeps what 1.x has no slot for in variables of its
own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from parity.causes.basics import injection
from workloads import optimizers

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.state.update_rules import UpdateRules
    from modern.mirrored.state.variables import LocalState, MirroredState
    from modern.mirrored.step.step_tensors import Tensors


class WeightStep(NamedTuple):
    """One weight in one step, as a formula reads it.

    Attributes:
      slots: {slot: variable}, which the formula assigns.
      extra: a further slot of the weight, zeros at first, which the formula may assign.
      gradient: of the weight.
      rate: learning rate, in the gradient's dtype.
      count: number of the update, from 1, in the gradient's dtype.
    """

    slots: Mapping[str, tf.Variable]
    extra: tf.Variable
    gradient: tf.Tensor
    rate: tf.Tensor
    count: tf.Tensor


class FrameworkRules(injection.WrappedRules):
    """Updates every weight by a formula, with one extra slot for each; the accumulators go on as 1.x's.

    Args:
      rules: the port's own, which it stands for.
      formula: function from a `WeightStep` to the change of the weight.
    """

    def __init__(self, rules: UpdateRules, formula: Callable[[WeightStep], tf.Tensor]) -> None:
        super().__init__(rules)
        self._formula = formula
        self._extra: list[dict[str, tf.Variable]] = []

    def prepare(self, variables: MirroredState, replicas: int) -> None:
        """Makes the extra slots, zeros, beside each replica's weights."""
        import tensorflow as tf

        for replica in range(replicas):
            made = {}
            for name, weight in variables.local(replica).weights.items():
                with tf.device(weight.device):
                    made[name] = tf.Variable(tf.zeros_like(weight))
            self._extra.append(made)

    def apply(self, local: LocalState, gradients: Tensors, rate: tf.Tensor) -> None:
        import tensorflow as tf

        before = {name: variable.read_value() for name, variable in {**local.weights, **local.slots}.items()}
        self._rules.apply(local, gradients, rate)
        for name, gradient in gradients.items():
            slots = {key.rsplit("/", 1)[1]: value for key, value in local.slots.items() if _owner(key) == name}
            for key, slot in slots.items():
                slot.assign(before[f"{name}/{key}"])
            count = tf.cast(local.step.read_value() + 1, gradient.dtype)
            rate_here = tf.cast(rate, gradient.dtype)
            change = self._formula(WeightStep(slots, self._extra[local.replica][name], gradient, rate_here, count))
            local.weights[name].assign(before[name] + change)


def _owner(slot: str) -> str:
    return slot.rsplit("/", 1)[0] if "/" in slot else ""


def _in_rules(formula: Callable[[Any, WeightStep], tf.Tensor]) -> injection.Change:
    """Returns the change to a formula of the optimizer, whose constants it reads, and of a `WeightStep`."""

    def wrap(rules: UpdateRules) -> UpdateRules:
        optimizer = rules.optimizer  # type: ignore[attr-defined]  # `Tf1Rules` has one
        return FrameworkRules(rules, functools.partial(formula, optimizer))

    return injection.in_update_rules(wrap)


def adam(
    corrected_epsilon: float | None = None, amsgrad: bool = False, correct: tuple[bool, bool] = (True, True)
) -> injection.Change:
    """Returns the change to another form of Adam.

    Args:
      corrected_epsilon: epsilon that is added after the bias correction, as in PyTorch; None for 1.x's place and value.
      amsgrad: whether to divide by the largest second moment so far.
      correct: whether the bias of the first, and of the second moment is corrected.

    Returns:
      the change.
    """

    def formula(optimizer: optimizers.Adam, step: WeightStep) -> tf.Tensor:
        import tensorflow as tf

        slots, largest, g, rate, count = step
        m = slots["m"].assign(slots["m"] + (g - slots["m"]) * (1 - optimizer.beta1))
        v = slots["v"].assign(slots["v"] + (g * g - slots["v"]) * (1 - optimizer.beta2))
        root = tf.sqrt(largest.assign(tf.maximum(largest, v)) if amsgrad else v)
        first = 1 - tf.pow(tf.cast(optimizer.beta1, g.dtype), count) if correct[0] else 1.0
        second = tf.sqrt(1 - tf.pow(tf.cast(optimizer.beta2, g.dtype), count)) if correct[1] else 1.0
        if corrected_epsilon is None:
            return -rate * second / first * m / (root + optimizer.epsilon)
        return -rate / first * m / (root / second + corrected_epsilon)

    return _in_rules(formula)


def rmsprop(outside: float | None = None, centered: bool = False, rate_outside: bool = False) -> injection.Change:
    """Returns the change to another form of RMSProp.

    Args:
      outside: epsilon that is added to the root, as in PyTorch; None for 1.x's inside the root.
      centered: whether to subtract the square of the mean gradient from the mean square.
      rate_outside: whether the learning rate multiplies the momentum slot instead of what it takes up.

    Returns:
      the change.
    """

    def formula(optimizer: optimizers.RMSProp, step: WeightStep) -> tf.Tensor:
        import tensorflow as tf

        slots, mean, g, rate, _ = step
        square = slots["rms"].assign(slots["rms"] + (g * g - slots["rms"]) * (1 - optimizer.decay))
        if centered:
            square = square - tf.square(mean.assign(mean + (g - mean) * (1 - optimizer.decay)))
        divisor = tf.sqrt(square + optimizer.epsilon) if outside is None else tf.sqrt(square) + outside
        taken = g / divisor if rate_outside else rate * g / divisor
        momentum = slots["momentum"].assign(optimizer.momentum * slots["momentum"] + taken)
        return -rate * momentum if rate_outside else -momentum

    return _in_rules(formula)


def adagrad(epsilon: float = 0.0, inside: float = 0.0) -> injection.Change:
    """Returns the change to Adagrad with an epsilon beside the root, or inside it."""

    def formula(optimizer: optimizers.Adagrad, step: WeightStep) -> tf.Tensor:
        import tensorflow as tf

        total = step.slots["accumulator"].assign_add(step.gradient * step.gradient)
        return -step.rate * step.gradient / (tf.sqrt(total + inside) + epsilon)

    return _in_rules(formula)


def momentum(dampening: float, first_damped: bool = False) -> injection.Change:
    """Returns the change to PyTorch's momentum, whose slot takes up `1 - dampening` of the gradient.

    Args:
      dampening: as in PyTorch.
      first_damped: whether the first gradient is damped, too; in PyTorch it is not.

    Returns:
      the change.
    """

    def formula(optimizer: optimizers.Momentum, step: WeightStep) -> tf.Tensor:
        import tensorflow as tf

        slots, _, g, rate, count = step
        whole = tf.logical_and(tf.equal(count, 1), not first_damped)
        gain = tf.where(whole, tf.ones_like(rate), tf.ones_like(rate) * (1 - dampening))
        return -rate * slots["momentum"].assign(optimizer.momentum * slots["momentum"] + gain * g)

    return _in_rules(formula)


def coupled_decay(decay: float) -> injection.Change:
    """Returns the change to an optimizer that adds `decay` times the weight to the gradient that it gets."""
    return injection.in_update_rules(lambda rules: _CoupledDecay(rules, decay))


class _CoupledDecay(injection.WrappedRules):
    def __init__(self, rules: UpdateRules, decay: float) -> None:
        super().__init__(rules)
        self._decay = decay

    def apply(self, local: LocalState, gradients: Tensors, rate: tf.Tensor) -> None:
        decayed = {name: g + self._decay * local.weights[name].read_value() for name, g in gradients.items()}
        self._rules.apply(local, decayed, rate)
