"""The optimizers' updates with the kernels that TensorFlow 1.x's optimizers run, on one replica's variables."""

from __future__ import annotations

import tensorflow as tf

from workloads import optimizers

raw = tf.raw_ops


class Tf1Rules:
    """The rung that keeps identical bits: 1.x's kernels, 1.x's slots.

    Args:
      rule: one of `workloads.optimizers`.
    """

    def __init__(self, rule):
        self._rule = rule

    def describe(self):
        """Text for the report."""
        return "tf1: the kernels of tf.compat.v1.train"

    def apply(self, local, gradients, rate):
        """Updates one replica's weights and slots in place.

        Args:
          local: the replica's `LocalState`.
          gradients: {weight name: combined gradient}.
          rate: float32 scalar.
        """
        rule, dtype = self._rule, next(iter(gradients.values())).dtype
        update = _RULES[type(rule)](rule, local, dtype, tf.cast(rate, dtype))
        for name, gradient in gradients.items():
            slots = [local.slots[f"{name}/{slot}"].handle for slot in rule.slots()]
            update(local.weights[name].handle, gradient, *slots)
        for power, beta in rule.accumulators().items():  # each starts at beta and is multiplied by it
            value = local.slots[power].read_value() * tf.constant(beta, tf.float32)
            raw.AssignVariableOp(resource=local.slots[power].handle, value=value)

    def load(self, state, rate):
        """Takes over the slots of a loaded `State`; here they are the mirrored slots already."""

    def slots(self, state, rate):
        """The slots in 1.x's terms; here they are already."""
        return state.slots


# Each rule below makes its constants once and returns update(weight, gradient, *slots), in the order of
# `rule.slots()`. Inside a loop over steps a constant costs as much as a small op, so none is made per weight.


def _constant(value, dtype):
    """1.x holds its constants in float32 and casts them: in a float64 run 0.9 is float32's 0.9."""
    return tf.cast(tf.constant(value, tf.float32), dtype)


def _gradient_descent(rule, local, dtype, rate):
    return lambda weight, gradient: raw.ResourceApplyGradientDescent(var=weight, alpha=rate, delta=gradient)


def _momentum(rule, local, dtype, rate):
    momentum = _constant(rule.momentum, dtype)
    return lambda weight, gradient, accumulator: raw.ResourceApplyMomentum(
        var=weight, accum=accumulator, lr=rate, grad=gradient, momentum=momentum, use_nesterov=rule.nesterov
    )


def _adam(rule, local, dtype, rate):
    powers = [tf.cast(local.slots[power].read_value(), dtype) for power in ("beta1_power", "beta2_power")]
    beta1, beta2, epsilon = (_constant(value, dtype) for value in (rule.beta1, rule.beta2, rule.epsilon))
    return lambda weight, gradient, m, v: raw.ResourceApplyAdam(
        var=weight,
        m=m,
        v=v,
        beta1_power=powers[0],
        beta2_power=powers[1],
        lr=rate,
        beta1=beta1,
        beta2=beta2,
        epsilon=epsilon,
        grad=gradient,
    )


def _rmsprop(rule, local, dtype, rate):
    decay, momentum, epsilon = (_constant(value, dtype) for value in (rule.decay, rule.momentum, rule.epsilon))
    return lambda weight, gradient, square, moment: raw.ResourceApplyRMSProp(
        var=weight, ms=square, mom=moment, lr=rate, rho=decay, momentum=momentum, epsilon=epsilon, grad=gradient
    )


def _adagrad(rule, local, dtype, rate):
    return lambda weight, gradient, accumulator: raw.ResourceApplyAdagrad(
        var=weight, accum=accumulator, lr=rate, grad=gradient
    )


_RULES = {
    optimizers.GradientDescent: _gradient_descent,
    optimizers.Momentum: _momentum,
    optimizers.Adam: _adam,
    optimizers.RMSProp: _rmsprop,
    optimizers.Adagrad: _adagrad,
}
