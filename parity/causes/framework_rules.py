"""Update rules as other libraries compute them, to inject their forms of 1.x's optimizers into the port.

Each writes 1.x's slots, so that a record of it can be compared, and keeps what 1.x has no slot for in variables of its
own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from parity.causes import injection
from workloads import optimizers

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.rules import UpdateRules
    from modern.mirrored.step_tensors import Tensors
    from modern.mirrored.variables import LocalState, MirroredState

    #: Function from a weight's slots, its own extra slot, its gradient, the learning rate and the number of the update
    #: (from 1) to the change of the weight; it assigns the slots.
    UpdateOne = Callable[[Mapping[str, tf.Variable], tf.Variable, tf.Tensor, tf.Tensor, tf.Tensor], tf.Tensor]


class FrameworkRules(injection.WrappedRules):
    """Updates every weight by a formula, with one extra slot for each; the accumulators go on as 1.x's.

    Args:
      rules: the port's own, which it stands for.
      update_one: the formula.
    """

    def __init__(self, rules: UpdateRules, update_one: UpdateOne) -> None:
        super().__init__(rules)
        self._update_one = update_one
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
            change = self._update_one(
                slots, self._extra[local.replica][name], gradient, tf.cast(rate, gradient.dtype), count
            )
            local.weights[name].assign(before[name] + change)


def _owner(slot: str) -> str:
    return slot.rsplit("/", 1)[0] if "/" in slot else ""


def _in_rules(make: Callable[[Any], UpdateOne]) -> injection.Change:
    """Returns the change to a formula that `make(optimizer)` makes with the workload's constants."""

    def wrap(rules: UpdateRules) -> UpdateRules:
        return FrameworkRules(rules, make(rules.optimizer))  # type: ignore[attr-defined]  # `Tf1Rules` has one

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

    def make(optimizer: optimizers.Adam) -> UpdateOne:
        def update_one(
            slots: Mapping[str, tf.Variable], largest: tf.Variable, g: tf.Tensor, rate: tf.Tensor, count: tf.Tensor
        ) -> tf.Tensor:
            import tensorflow as tf

            m = slots["m"].assign(slots["m"] + (g - slots["m"]) * (1 - optimizer.beta1))
            v = slots["v"].assign(slots["v"] + (g * g - slots["v"]) * (1 - optimizer.beta2))
            root = tf.sqrt(largest.assign(tf.maximum(largest, v)) if amsgrad else v)
            first = 1 - tf.pow(tf.cast(optimizer.beta1, g.dtype), count) if correct[0] else 1.0
            second = tf.sqrt(1 - tf.pow(tf.cast(optimizer.beta2, g.dtype), count)) if correct[1] else 1.0
            if corrected_epsilon is None:
                return -rate * second / first * m / (root + optimizer.epsilon)
            return -rate / first * m / (root / second + corrected_epsilon)

        return update_one

    return _in_rules(make)


def rmsprop(outside: float | None = None, centered: bool = False, rate_outside: bool = False) -> injection.Change:
    """Returns the change to another form of RMSProp.

    Args:
      outside: epsilon that is added to the root, as in PyTorch; None for 1.x's inside the root.
      centered: whether to subtract the square of the mean gradient from the mean square.
      rate_outside: whether the learning rate multiplies the momentum slot instead of what it takes up.

    Returns:
      the change.
    """

    def make(optimizer: optimizers.RMSProp) -> UpdateOne:
        def update_one(
            slots: Mapping[str, tf.Variable], mean: tf.Variable, g: tf.Tensor, rate: tf.Tensor, count: tf.Tensor
        ) -> tf.Tensor:
            import tensorflow as tf

            square = slots["rms"].assign(slots["rms"] + (g * g - slots["rms"]) * (1 - optimizer.decay))
            if centered:
                square = square - tf.square(mean.assign(mean + (g - mean) * (1 - optimizer.decay)))
            divisor = tf.sqrt(square + optimizer.epsilon) if outside is None else tf.sqrt(square) + outside
            taken = g / divisor if rate_outside else rate * g / divisor
            momentum = slots["momentum"].assign(optimizer.momentum * slots["momentum"] + taken)
            return -rate * momentum if rate_outside else -momentum

        return update_one

    return _in_rules(make)


def adagrad(epsilon: float = 0.0, inside: float = 0.0) -> injection.Change:
    """Returns the change to Adagrad with an epsilon beside the root, or inside it."""

    def make(optimizer: optimizers.Adagrad) -> UpdateOne:
        def update_one(
            slots: Mapping[str, tf.Variable], extra: tf.Variable, g: tf.Tensor, rate: tf.Tensor, count: tf.Tensor
        ) -> tf.Tensor:
            import tensorflow as tf

            total = slots["accumulator"].assign_add(g * g)
            return -rate * g / (tf.sqrt(total + inside) + epsilon)

        return update_one

    return _in_rules(make)


def momentum(dampening: float, first_damped: bool = False) -> injection.Change:
    """Returns the change to PyTorch's momentum, whose slot takes up `1 - dampening` of the gradient.

    Args:
      dampening: as in PyTorch.
      first_damped: whether the first gradient is damped, too; in PyTorch it is not.

    Returns:
      the change.
    """

    def make(optimizer: optimizers.Momentum) -> UpdateOne:
        def update_one(
            slots: Mapping[str, tf.Variable], extra: tf.Variable, g: tf.Tensor, rate: tf.Tensor, count: tf.Tensor
        ) -> tf.Tensor:
            import tensorflow as tf

            whole = tf.logical_and(tf.equal(count, 1), not first_damped)
            gain = tf.where(whole, tf.ones_like(rate), tf.ones_like(rate) * (1 - dampening))
            return -rate * slots["momentum"].assign(optimizer.momentum * slots["momentum"] + gain * g)

        return update_one

    return _in_rules(make)


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
