"""The exponential moving average of the weights, on one replica's variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

if TYPE_CHECKING:
    from modern.mirrored.state.variables import LocalState
    from workloads.workload import MovingAverage


def update_moving_averages(rule: MovingAverage, local: LocalState) -> None:
    """Updates the moving averages; call after the weights were updated and the step was counted."""
    decay = tf.constant(rule.decay, tf.float32)
    if rule.warm_up:
        updates = tf.cast(local.step.read_value(), tf.float32)
        decay = tf.minimum(decay, (1.0 + updates) / (10.0 + updates))
    share = 1.0 - decay  # in float32 whatever the run's dtype, as TensorFlow 1.x does it
    for name, average in local.averages.items():
        gap = average.read_value() - local.weights[name].read_value()
        tf.raw_ops.AssignSubVariableOp(resource=average.handle, value=gap * tf.cast(share, gap.dtype))
