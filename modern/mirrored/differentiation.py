"""The two ways to differentiate a loss: `tf.gradients`, as tower code does, and `tf.GradientTape`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tensorflow as tf

from modern.mirrored.step_tensors import Tensors
from workloads.numerics import combining


def gradients_by_graph(
    make_loss: Callable[[], tf.Tensor], weights: Tensors, layer_devices: Sequence[str] = ()
) -> tuple[tf.Tensor, Tensors]:
    """Differentiates by `tf.gradients`, which adds the contributions of a weight in the order of tower code.

    Args:
      make_loss: builds the scalar loss from the tensors in `weights`.
      weights: {weight name: tensor}.
      layer_devices: devices that the layers are divided among; a layer's gradients are then computed on its device.

    Returns:
      The loss, and {weight name: dense gradient}.
    """
    loss = make_loss()
    values = list(weights.values())
    gradients = tf.compat.v1.gradients(loss, values, colocate_gradients_with_ops=bool(layer_devices))
    return loss, dict(zip(weights, combining.dense(gradients, values)))


def gradients_by_tape(
    make_loss: Callable[[], tf.Tensor], weights: Tensors, layer_devices: Sequence[str] = ()
) -> tuple[tf.Tensor, Tensors]:
    """Differentiates by `tf.GradientTape`, which may add the contributions of a weight in another order.

    Args:
      make_loss: builds the scalar loss from the tensors in `weights`.
      weights: {weight name: tensor}.
      layer_devices: not used; a tape runs each gradient where its forward op ran.

    Returns:
      The loss, and {weight name: dense gradient}.
    """
    values = list(weights.values())
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(values)
        loss = make_loss()
    return loss, dict(zip(weights, combining.dense(tape.gradient(loss, values), values)))
