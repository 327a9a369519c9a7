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
        _apply(self._rule, local, gradients, rate)

    def load(self, state, rate):
        """Takes over the slots of a loaded `State`; here they are the mirrored slots already."""

    def slots(self, state, rate):
        """The slots in 1.x's terms; here they are already."""
        return state.slots


def _apply(rule, local, gradients, rate):
    update = _RULES[type(rule)]
    for name, gradient in gradients.items():
        slots = {slot: local.slots["{}/{}".format(name, slot)].handle for slot in rule.slots()}
        update(rule, local, local.weights[name].handle, slots, gradient, tf.cast(rate, gradient.dtype))
    if isinstance(rule, optimizers.Adam):
        for power, beta in (("beta1_power", rule.beta1), ("beta2_power", rule.beta2)):
            value = local.slots[power].read_value() * tf.constant(beta, tf.float32)
            raw.AssignVariableOp(resource=local.slots[power].handle, value=value)


def _constant(value, like):
    """1.x holds its constants in float32 and casts them: in a float64 run 0.9 is float32's 0.9."""
    return tf.cast(tf.constant(value, tf.float32), like.dtype)


def _gradient_descent(rule, local, weight, slots, gradient, rate):
    raw.ResourceApplyGradientDescent(var=weight, alpha=rate, delta=gradient)


def _momentum(rule, local, weight, slots, gradient, rate):
    raw.ResourceApplyMomentum(
        var=weight, accum=slots["momentum"], lr=rate, grad=gradient,
        momentum=_constant(rule.momentum, gradient), use_nesterov=rule.nesterov)


def _adam(rule, local, weight, slots, gradient, rate):
    raw.ResourceApplyAdam(
        var=weight, m=slots["m"], v=slots["v"],
        beta1_power=tf.cast(local.slots["beta1_power"].read_value(), gradient.dtype),
        beta2_power=tf.cast(local.slots["beta2_power"].read_value(), gradient.dtype),
        lr=rate, beta1=_constant(rule.beta1, gradient), beta2=_constant(rule.beta2, gradient),
        epsilon=_constant(rule.epsilon, gradient), grad=gradient)


def _rmsprop(rule, local, weight, slots, gradient, rate):
    raw.ResourceApplyRMSProp(
        var=weight, ms=slots["rms"], mom=slots["momentum"], lr=rate, rho=_constant(rule.decay, gradient),
        momentum=_constant(rule.momentum, gradient), epsilon=_constant(rule.epsilon, gradient), grad=gradient)


def _adagrad(rule, local, weight, slots, gradient, rate):
    raw.ResourceApplyAdagrad(var=weight, accum=slots["accumulator"], lr=rate, grad=gradient)


_RULES = {
    optimizers.GradientDescent: _gradient_descent,
    optimizers.Momentum: _momentum,
    optimizers.Adam: _adam,
    optimizers.RMSProp: _rmsprop,
    optimizers.Adagrad: _adagrad,
}
