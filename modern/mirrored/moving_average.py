"""The exponential moving average of the weights, on one replica's variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

if TYPE_CHECKING:
    from modern.mirrored.variables import LocalState
    from workloads.workload import MovingAverage


def update_moving_averages(rule: MovingAverage, local: LocalState) -> None:
    """Updates the moving averages; call after the weights were updated and the step was counted."""
    share = share_of_weights(rule, local.step.read_value())
    for name, average in local.averages.items():
        gap = average.read_value() - local.weights[name].read_value()
        tf.raw_ops.AssignSubVariableOp(resource=average.handle, value=gap * tf.cast(share, gap.dtype))


def share_of_weights(rule: MovingAverage, updates: tf.Tensor) -> tf.Tensor:
    """Returns one minus the decay, in float32 whatever the run's dtype, as TensorFlow 1.x does it.

    Args:
      rule: of the averages.
      updates: number of the weights' updates so far, this one included.
    """
    decay = tf.constant(rule.decay, tf.float32)
    if rule.warm_up:
        updates = tf.cast(updates, tf.float32)
        decay = tf.minimum(decay, (1.0 + updates) / (10.0 + updates))
    return 1.0 - decay
