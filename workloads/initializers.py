"""Initial values as data: each initializer is a frozen record that draws a float32 numpy array.

Values are drawn once, in numpy, and loaded into both sides, so nothing is compared through two random
generators. They are drawn in float32 whatever the dtype of the run: a float64 run of the same job then starts
at exactly the same point and can serve as the truth that float32 runs are measured against.

    >>> Constant(0.5)((2,), np.random.RandomState(0))
    array([0.5, 0.5], dtype=float32)
"""

from __future__ import annotations

import abc
import dataclasses
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Standard deviation of a standard normal distribution that is cut at two standard deviations.
TRUNCATED = 0.87962566103423978


@dataclasses.dataclass(frozen=True)
class Initializer(abc.ABC):
    """A frozen record that draws a variable's initial value."""

    @abc.abstractmethod
    def __call__(self, shape: Sequence[int], rng: np.random.RandomState) -> np.ndarray:
        """Returns a float32 array of `shape`, drawn from `rng`."""


@dataclasses.dataclass(frozen=True)
class Constant(Initializer):
    """Every element is `value`."""

    value: float = 0.0

    def __call__(self, shape: Sequence[int], rng: np.random.RandomState) -> np.ndarray:
        return np.full(shape, self.value, np.float32)


@dataclasses.dataclass(frozen=True)
class Normal(Initializer):
    """Normal(mean, stddev) (`tf.random_normal`)."""

    stddev: float = 1.0
    mean: float = 0.0

    def __call__(self, shape: Sequence[int], rng: np.random.RandomState) -> np.ndarray:
        return np.asarray(rng.standard_normal(shape) * self.stddev + self.mean, np.float32)


@dataclasses.dataclass(frozen=True)
class Uniform(Initializer):
    """Uniform between `low` and `high` (`tf.random_uniform`)."""

    low: float = 0.0
    high: float = 1.0

    def __call__(self, shape: Sequence[int], rng: np.random.RandomState) -> np.ndarray:
        return np.asarray(rng.uniform(self.low, self.high, shape), np.float32)


@dataclasses.dataclass(frozen=True)
class TruncatedNormal(Initializer):
    """Normal(0, stddev) with values beyond two standard deviations drawn again (`tf.truncated_normal`)."""

    stddev: float = 1.0

    def __call__(self, shape: Sequence[int], rng: np.random.RandomState) -> np.ndarray:
        values = rng.standard_normal(shape)
        while True:
            outside = np.abs(values) > 2.0
            if not outside.any():
                return np.asarray(values * self.stddev, np.float32)
            values = np.where(outside, rng.standard_normal(shape), values)


@dataclasses.dataclass(frozen=True)
class GlorotUniform(Initializer):
    """Uniform in ±sqrt(6 / (fan_in + fan_out)): the default of `tf.get_variable`."""

    def __call__(self, shape: Sequence[int], rng: np.random.RandomState) -> np.ndarray:
        fan_in, fan_out = fans(shape)
        limit = np.sqrt(6.0 / (fan_in + fan_out))
        return np.asarray(rng.uniform(-limit, limit, shape), np.float32)


@dataclasses.dataclass(frozen=True)
class VarianceScaling(Initializer):
    """Random numbers of variance scale / n (`tf.variance_scaling_initializer`).

    Attributes:
      scale: their variance times n.
      mode: what n is: "fan_in" (inputs of a unit), "fan_out" (outputs of an input) or "fan_avg" (the mean of these).
      distribution: "truncated_normal", "untruncated_normal" or "uniform".
    """

    scale: float = 1.0
    mode: str = "fan_in"
    distribution: str = "truncated_normal"

    def __call__(self, shape: Sequence[int], rng: np.random.RandomState) -> np.ndarray:
        stddev = float(np.sqrt(self.scale / fan(shape, self.mode)))
        if self.distribution == "uniform":
            limit = float(np.sqrt(3.0)) * stddev
            return Uniform(-limit, limit)(shape, rng)
        if self.distribution == "untruncated_normal":
            return Normal(stddev)(shape, rng)
        return TruncatedNormal(stddev / TRUNCATED)(shape, rng)


@dataclasses.dataclass(frozen=True)
class HeNormal(Initializer):
    """Truncated normal with stddev sqrt(2 / fan_in): for layers followed by a rectifier."""

    def __call__(self, shape: Sequence[int], rng: np.random.RandomState) -> np.ndarray:
        return TruncatedNormal(float(np.sqrt(2.0 / fans(shape)[0])))(shape, rng)


@dataclasses.dataclass(frozen=True)
class Orthogonal(Initializer):
    """Orthonormal columns, or rows if these are fewer, times `gain` (`tf.orthogonal_initializer`).

    The last dimension of a weight counts the columns, all others together the rows.
    """

    gain: float = 1.0

    def __call__(self, shape: Sequence[int], rng: np.random.RandomState) -> np.ndarray:
        rows, columns = int(np.prod(shape[:-1])), int(shape[-1])
        factor, triangle = np.linalg.qr(rng.standard_normal((max(rows, columns), min(rows, columns))))
        factor *= np.sign(np.diag(triangle))
        matrix = factor.T if rows < columns else factor
        return np.asarray(self.gain * matrix.reshape(tuple(shape)), np.float32)


def fans(shape: Sequence[int]) -> tuple[float, float]:
    """Returns (fan_in, fan_out) as TensorFlow counts them, of a weight [..., in, out] with a receptive field before."""
    if len(shape) < 2:
        size = float(shape[0]) if shape else 1.0
        return size, size
    field = float(np.prod(shape[:-2]))
    return shape[-2] * field, shape[-1] * field


def fan(shape: Sequence[int], mode: str) -> float:
    """Returns the number that the variance of a weight is divided by; see `VarianceScaling.mode`.

    >>> fan((3, 3, 4, 8), "fan_in"), fan((4, 8), "fan_avg")
    (36.0, 6.0)
    """
    fan_in, fan_out = fans(shape)
    return {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[mode]
