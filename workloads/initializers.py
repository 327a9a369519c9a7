"""Initial values, as data: each initializer is a frozen record that draws a float32 numpy array.

Values are drawn once, in numpy, and loaded into both sides, so nothing is compared through two random
generators. They are drawn in float32 whatever the dtype of the run: a float64 run of the same job then starts
at exactly the same point and can serve as the truth that float32 runs are measured against.
"""

from __future__ import annotations

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Constant:
    """Every element is `value`."""

    value: float = 0.0

    def __call__(self, shape, rng):
        return np.full(shape, self.value, np.float32)


@dataclasses.dataclass(frozen=True)
class TruncatedNormal:
    """Normal(0, stddev) with values beyond two standard deviations drawn again (`tf.truncated_normal`)."""

    stddev: float = 1.0

    def __call__(self, shape, rng):
        values = rng.standard_normal(shape)
        while True:
            outside = np.abs(values) > 2.0
            if not outside.any():
                return np.asarray(values * self.stddev, np.float32)
            values = np.where(outside, rng.standard_normal(shape), values)


@dataclasses.dataclass(frozen=True)
class GlorotUniform:
    """Uniform in ±sqrt(6 / (fan_in + fan_out)): what `tf.get_variable` does when told nothing."""

    def __call__(self, shape, rng):
        fan_in, fan_out = fans(shape)
        limit = np.sqrt(6.0 / (fan_in + fan_out))
        return np.asarray(rng.uniform(-limit, limit, shape), np.float32)


@dataclasses.dataclass(frozen=True)
class HeNormal:
    """Truncated normal with stddev sqrt(2 / fan_in): for layers followed by a rectifier."""

    def __call__(self, shape, rng):
        return TruncatedNormal(float(np.sqrt(2.0 / fans(shape)[0])))(shape, rng)


def fans(shape):
    """(fan_in, fan_out) of a weight of this shape, as TensorFlow counts them: [..., in, out] with a receptive field."""
    if len(shape) < 2:
        size = float(shape[0]) if shape else 1.0
        return size, size
    field = float(np.prod(shape[:-2]))
    return shape[-2] * field, shape[-1] * field
