"""The mathematics of combining gradients, as pure functions that both sides call.

>>> combine([tf.constant([1.0, 2.0]), tf.constant([3.0, 6.0])], "mean").numpy().tolist()
[2.0, 4.0]
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Dict

import tensorflow as tf

from workloads.numerics.clip_rule import Clip

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


#: {weight name: tensor}.
Tensors = Dict[str, Any]


def combine(values: list[tf.Tensor], how: str, form: str = "stack") -> tf.Tensor:
    """Combines one tensor's values over the towers, adding them in the towers' order.

    Args:
      values: list of N tensors of one shape.
      how: "mean" or "sum".
      form: "stack" (stack, then reduce over the new axis), "add_n" (add, then divide), or "add_n_reciprocal" (add,
        then multiply by 1 / N, which rounds otherwise where N is no power of two). One value passes through unchanged,
        as in the original scripts.

    Returns:
      the mean or sum.
    """
    if len(values) == 1:
        return values[0]
    if form != "stack":
        total = tf.add_n(values)
        if how == "sum":
            return total
        return total * (1.0 / len(values)) if form == "add_n_reciprocal" else total / len(values)
    stacked = tf.stack(values)
    return tf.reduce_mean(stacked, axis=0) if how == "mean" else tf.reduce_sum(stacked, axis=0)


def clip(gradients: Iterable[tf.Tensor], rule: Clip | None, where: str) -> list[tf.Tensor]:
    """Clips gradients where the workload's rule applies.

    Args:
      gradients: of all weights.
      rule: the workload's `Clip`, or None.
      where: "tower" or "combined": the point that these gradients have reached.

    Returns:
      the gradients; clipped if `rule` applies at `where`.
    """
    if rule is None or rule.where != where:
        return list(gradients)
    if rule.how == "global_norm":
        return tf.clip_by_global_norm(gradients, rule.limit)[0]
    if rule.how == "norm":
        return [tf.clip_by_norm(gradient, rule.limit) for gradient in gradients]
    return [tf.clip_by_value(gradient, -rule.limit, rule.limit) for gradient in gradients]


def clip_alone(gradients: Iterable[tf.Tensor], rule: Clip | None) -> list[tf.Tensor]:
    """Clips one tower's gradients that are applied without the others': by either kind of rule."""
    return clip(clip(gradients, rule, "tower"), rule, "combined")


def combine_gradients(
    gradients: Sequence[Tensors], how: str, rule: Clip | None, form: str, devices: Mapping[str, str] | None = None
) -> Tensors:
    """Clips per tower, combines, and clips again where the rule applies.

    Args:
      gradients: list over towers of {weight name: gradient}.
      how: "mean" or "sum".
      rule: the workload's `Clip`, or None.
      form: see `combine`.
      devices: {weight name: device where its gradients are combined}, or None for the current device.

    Returns:
      {weight name: gradient that the optimizer gets}.
    """
    names = list(gradients[0])
    clipped = [clip([tower[name] for name in names], rule, "tower") for tower in gradients]
    combined = []
    for name, values in zip(names, zip(*clipped)):
        with tf.device(devices[name]) if devices else contextlib.nullcontext():
            combined.append(combine(list(values), how, form))
    return dict(zip(names, clip(combined, rule, "combined")))


def dense(gradients: Iterable[tf.Tensor | tf.IndexedSlices | None], weights: Iterable[tf.Tensor]) -> list[tf.Tensor]:
    """Converts gradients to dense tensors: rows of an embedding are scattered, a weight the loss ignores gets zeros.

    Tower code did the first implicitly, by stacking gradients.
    """
    return [
        tf.zeros_like(weight) if gradient is None else tf.convert_to_tensor(gradient)
        for gradient, weight in zip(gradients, weights)
    ]
