"""The mathematics of combining gradients, as pure functions that both sides call."""

from __future__ import annotations

import contextlib

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


def clip_alone(gradients, rule):
    """`gradients` of one tower, clipped as a tower's and as what the optimizer gets: applied alone, they are both."""
    return clip(clip(gradients, rule, "tower"), rule, "combined")


def combine_gradients(workload, gradients, form, devices=None):
    """{weight: what the optimizer gets}: clipped per tower, combined, clipped again, as the workload says.

    Args:
      gradients: list over towers of {weight: gradient}.
      devices: {weight: where its gradients are combined}, or None for the current device.
    """
    names = list(gradients[0])
    clipped = [clip([tower[name] for name in names], workload.clip, "tower") for tower in gradients]
    combined = []
    for name, values in zip(names, zip(*clipped)):
        with tf.device(devices[name]) if devices else contextlib.nullcontext():
            combined.append(combine(list(values), workload.combine, form))
    return dict(zip(names, clip(combined, workload.clip, "combined")))


def dense(gradients, weights):
    """Gradients as dense tensors: rows of an embedding are scattered, a weight the loss ignores gets zeros.

    Tower code did the first by stacking gradients, silently; here it is said.
    """
    return [
        tf.zeros_like(weight) if gradient is None else tf.convert_to_tensor(gradient)
        for gradient, weight in zip(gradients, weights)
    ]
