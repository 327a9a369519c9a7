"""Many steps in one call of a `tf.function`: a call costs about as much as a small model's step."""

from __future__ import annotations

import numpy as np
import tensorflow as tf


def many(step, replicas, dtype):
    """A concrete function of the number of steps (int64) that takes them and gives the last one's losses.

    It is concrete because that skips the look-up by argument types, and cannot retrace unnoticed.

    Args:
      step: takes one step and gives a list of scalar losses, one a replica; or an empty list if there are none.
      replicas, dtype: of the losses.
    """

    def run(steps):
        def body(i, *before):
            return (i + 1, *(step() or before))

        start = [tf.constant(0, tf.int64)] + [tf.zeros([], dtype)] * replicas
        return tf.while_loop(lambda i, *unused: i < steps, body, start)[1:]

    return tf.function(run, autograph=False).get_concrete_function(tf.TensorSpec([], tf.int64))


def run(function, steps, steps_per_call):
    """Takes `steps` steps by `many`'s function, at most so many in a call; the last step's losses."""
    full, rest = divmod(steps, steps_per_call)
    inside = tf.constant(steps_per_call, tf.int64)
    for _ in range(full):
        losses = function(inside)
    if rest:
        losses = function(tf.constant(rest, tf.int64))
    return [np.asarray(loss) for loss in losses]
