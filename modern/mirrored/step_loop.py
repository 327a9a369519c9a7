"""Loop over many steps in one call of a `tf.function`: a call takes about as long as a small model's step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf


def trace_step_loop(
    take_step: Callable[[], Sequence[tf.Tensor]], losses: int, dtype: str
) -> Callable[[tf.Tensor], Sequence[tf.Tensor]]:
    """Traces a loop over steps.

    Args:
      take_step: takes one step and returns a list of scalar losses, one a replica; or an empty list if there are none.
      losses: how many losses a step has.
      dtype: their dtype.

    Returns:
      A function of the number of steps (int64 tensor) that takes them and returns the last one's losses. It is a
      concrete function, which skips the look-up by argument types and cannot be retraced unnoticed.
    """

    def run(steps: tf.Tensor) -> Sequence[tf.Tensor]:
        def body(i: tf.Tensor, *before: tf.Tensor) -> tuple[Any, ...]:
            return (i + 1, *(take_step() or before))

        start = [tf.constant(0, tf.int64)] + [tf.zeros([], dtype)] * losses
        return tf.while_loop(lambda i, *unused: i < steps, body, start)[1:]

    return tf.function(run, autograph=False).get_concrete_function(tf.TensorSpec([], tf.int64))


def run_steps(loop: Callable[[tf.Tensor], Sequence[tf.Tensor]], steps: int, steps_per_call: int) -> list[np.ndarray]:
    """Runs `steps` steps by a traced loop.

    Args:
      loop: see `trace_step_loop`.
      steps: how many, at least 1.
      steps_per_call: at most so many in one call of `loop`.

    Returns:
      The last step's losses.
    """
    full, rest = divmod(steps, steps_per_call)
    inside = tf.constant(steps_per_call, tf.int64)
    losses: Sequence[tf.Tensor] = ()
    for _ in range(full):
        losses = loop(inside)
    if rest:
        losses = loop(tf.constant(rest, tf.int64))
    return [np.asarray(loss) for loss in losses]
