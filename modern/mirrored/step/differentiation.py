"""The two ways to differentiate a loss: `tf.gradients`, as tower code does, and `tf.GradientTape`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tensorflow as tf

from modern.mirrored.step.step_tensors import Tensors
from workloads import taps
from workloads.frame import Frame
from workloads.numerics import combining, gradient_sums


def gradients_by_graph(
    make_loss: Callable[[], tf.Tensor],
    weights: Tensors,
    layer_devices: Sequence[str] = (),
    frame: Frame | None = None,
    in_order: bool = False,
) -> tuple[tf.Tensor, Tensors]:
    """Differentiates by `tf.gradients`, which adds the contributions of a weight in the order of tower code.

    Args:
      make_loss: builds the scalar loss from the tensors in `weights`.
      weights: {weight name: tensor}.
      layer_devices: devices that the layers are divided among; a layer's gradients are then computed on its device.
      frame: of the pass, whose taps are filled by `make_loss` and get their gradients here; None without taps.
      in_order: whether three or more parts of a gradient are added in their order; not those of gradients in the loss.

    Returns:
      The loss, and {weight name: dense gradient}.
    """
    loss = make_loss()
    values = list(weights.values())
    names, tapped = taps.differentiable(frame.taps if frame is not None else {})
    with gradient_sums.added_in_order(in_order):
        found = tf.compat.v1.gradients(loss, [*values, *tapped], colocate_gradients_with_ops=bool(layer_devices))
    _keep_tap_gradients(frame, names, found[len(values) :])
    return loss, dict(zip(weights, combining.dense(found[: len(values)], values)))


def gradients_by_tape(
    make_loss: Callable[[], tf.Tensor],
    weights: Tensors,
    layer_devices: Sequence[str] = (),
    frame: Frame | None = None,
    in_order: bool = False,
) -> tuple[tf.Tensor, Tensors]:
    """Differentiates by `tf.GradientTape`, which may add the contributions of a weight in another order.

    Args:
      make_loss: builds the scalar loss from the tensors in `weights`.
      weights: {weight name: tensor}.
      layer_devices: not used; a tape runs each gradient where its forward op ran.
      frame: of the pass, whose taps are filled by `make_loss` and get their gradients here; None without taps.
      in_order: whether three or more parts of a gradient are added in their order; not those of gradients in the loss.

    Returns:
      The loss, and {weight name: dense gradient}.
    """
    values = list(weights.values())
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(values)
        loss = make_loss()
    names, tapped = taps.differentiable(frame.taps if frame is not None else {})
    with gradient_sums.added_in_order(in_order):
        found = tape.gradient(loss, [*values, *tapped])
    _keep_tap_gradients(frame, names, found[len(values) :])
    return loss, dict(zip(weights, combining.dense(found[: len(values)], values)))


def _keep_tap_gradients(frame: Frame | None, names: Sequence[str], gradients: Sequence[tf.Tensor | None]) -> None:
    if frame is not None:
        frame.tap_gradients = taps.filled_gradients(frame.taps, dict(zip(names, gradients)))
