"""Gradient ascent to weights with a gradient of large norm, so that clipping has an effect."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from workloads import tracing
from workloads.job import Job
from workloads.program import Arrays, State

#: Multiples of the weights from which the ascent starts; gradients of saturated or of tiny activations only shrink.
STARTS = (1.0, 4.0, 16.0)

#: Steps of each ascent, their length, and the decays of Adam's moments.
STEPS, LENGTH, DECAYS = 200, 0.1, (0.9, 0.99)


class Slope(NamedTuple):
    """A tower's gradient norm, and the direction in which its logarithm grows, as tensors."""

    norm: tf.Tensor
    direction: list[tf.Tensor]


def find_steep_weights(job: Job, batch: Arrays, start: State, norm: float) -> Arrays | None:
    """Searches for weights at which one tower's gradient has at least a given norm.

    Args:
      job: the job.
      batch: the tower's.
      start: the state whose weights are changed.
      norm: the norm to reach.

    Returns:
      {weight: array}; None if the search does not get there, or the model has no second derivative.
    """
    traced = tracing.trace_loss(job.workload, job.per_replica_batch, job.dtype)
    with traced.loss.graph.as_default():
        try:
            slope = _slope(traced)
        except (LookupError, NotImplementedError, TypeError, ValueError):  # an op without a second derivative
            return None
        fixed = {traced.batch[name]: value for name, value in batch.items()}
        fixed.update((traced.statistics[name], value) for name, value in start.statistics.items())
        with tf.compat.v1.Session() as session:
            for scale in STARTS:
                weights = [np.asarray(start.weights[name] * scale, job.dtype) for name in traced.weights]
                found = _ascend(session, slope, list(traced.weights.values()), fixed, weights, norm)
                if found is not None:
                    return dict(zip(traced.weights, found))
    return None


def _slope(traced: tracing.TracedLoss) -> Slope:
    weights = list(traced.weights.values())
    gradients = [gradient for gradient in tf.gradients(traced.loss, weights) if gradient is not None]
    square = tf.add_n([tf.reduce_sum(tf.square(gradient)) for gradient in gradients])
    found = tf.gradients(tf.math.log(square), weights)
    direction = [tf.zeros_like(w) if d is None else tf.convert_to_tensor(d) for w, d in zip(weights, found)]
    return Slope(tf.sqrt(square), direction)


def _ascend(
    session: tf.compat.v1.Session,
    slope: Slope,
    places: list[tf.Tensor],
    fixed: dict[tf.Tensor, np.ndarray],
    weights: list[np.ndarray],
    norm: float,
) -> list[np.ndarray] | None:
    """Ascends by Adam's rule until the gradient has the norm; None if it does not get there."""
    first, second = ([np.zeros_like(weight) for weight in weights] for _ in range(2))
    for step in range(1, STEPS + 1):
        reached, direction = session.run(slope, {**fixed, **dict(zip(places, weights))})
        if not np.isfinite(reached) or not all(np.isfinite(d).all() for d in direction):
            return None
        if reached >= norm:
            return weights
        first = [DECAYS[0] * m + (1 - DECAYS[0]) * d for m, d in zip(first, direction)]
        second = [DECAYS[1] * v + (1 - DECAYS[1]) * d**2 for v, d in zip(second, direction)]
        corrections = [1 - decay**step for decay in DECAYS]
        weights = [
            np.asarray(w + LENGTH * (m / corrections[0]) / (np.sqrt(v / corrections[1]) + 1e-12), w.dtype)
            for w, m, v in zip(weights, first, second)
        ]
    return None
