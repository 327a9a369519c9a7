"""The mathematics of combining gradients, as pure functions that both sides call."""

from __future__ import annotations

import tensorflow as tf


def combine(values, how, form="stack"):
    """The mean or sum of one tensor's values over the towers, adding them in the towers' order.

    Args:
      values: list of N tensors of one shape.
      how: "mean" or "sum".
      form: "stack" (stack, then reduce over the new axis) or "add_n" (add, then divide). One value passes
        through unchanged, as in the old programs.
    """
    if len(values) == 1:
        return values[0]
    if form == "add_n":
        total = tf.add_n(values)
        return total / len(values) if how == "mean" else total
    stacked = tf.stack(values)
    return tf.reduce_mean(stacked, axis=0) if how == "mean" else tf.reduce_sum(stacked, axis=0)


def clip(gradients, rule, where):
    """`gradients` clipped by the workload's `Clip` if it applies at `where` ("tower" or "combined")."""
    if rule is None or rule.where != where:
        return list(gradients)
    if rule.how == "global_norm":
        return tf.clip_by_global_norm(gradients, rule.limit)[0]
    if rule.how == "norm":
        return [tf.clip_by_norm(gradient, rule.limit) for gradient in gradients]
    return [tf.clip_by_value(gradient, -rule.limit, rule.limit) for gradient in gradients]


def dense(gradients, weights):
    """Gradients as dense tensors: rows of an embedding are scattered, a weight the loss ignores gets zeros.

    Tower code did the first by stacking gradients, silently; here it is said.
    """
    return [
        tf.zeros_like(weight) if gradient is None else tf.convert_to_tensor(gradient)
        for gradient, weight in zip(gradients, weights)
    ]
