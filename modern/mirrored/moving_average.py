"""The exponential moving average of the weights, on one replica's variables."""

from __future__ import annotations

import tensorflow as tf


def update(rule, local):
    """Moves the weights' averages one update on; call after `apply` and after the step was counted."""
    decay = tf.constant(rule.decay, tf.float32)
    if rule.warm_up:
        updates = tf.cast(local.step.read_value(), tf.float32)
        decay = tf.minimum(decay, (1.0 + updates) / (10.0 + updates))
    share = 1.0 - decay  # in float32 whatever the run's dtype, as TensorFlow 1.x does it
    for name, shadow in local.averages.items():
        gap = shadow.read_value() - local.weights[name].read_value()
        tf.raw_ops.AssignSubVariableOp(resource=shadow.handle, value=gap * tf.cast(share, gap.dtype))
