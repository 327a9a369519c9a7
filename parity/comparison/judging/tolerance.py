"""Tolerances: the relative difference that each stage may show, with the reason beside every number."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from parity.comparison import stages
from workloads.optimizers import Optimizer

NAMES = ("exact", "auto")

#: A tolerance: function of (stage, dtype of the tensor, replicas, steps since both sides had the same state) to the
#: largest allowed `max_rel`; see `difference.Difference`.
Tolerance: TypeAlias = Callable[[str, np.dtype, int, int], float]

#: A difference may be this many times legacy's own distance from the float64 truth in the median step: two sides
#: equally far from the truth are at most twice that apart, and a tensor's worst element varies about fourfold from step
#: to step (measured on the five systems).
FLOOR_FACTOR = 8.0


class StageTolerance(NamedTuple):
    """Units in the last place of a tensor's largest entry that one step may differ by, and why."""

    ulps: int
    reason: str


BASE = {
    stages.INITIAL: StageTolerance(0, "initial values are made once and loaded into both sides"),
    stages.BATCH: StageTolerance(0, "batches are made once; digests are equal or not"),
    stages.RATE: StageTolerance(2, "one pow in float32; two libm's may round it differently"),
    stages.ACTIVATIONS: StageTolerance(64, "sums in another order, through the layers before"),
    stages.ACTIVATION_GRADIENTS: StageTolerance(64, "the same, through every layer backwards"),
    stages.LOSS: StageTolerance(16, "a mean of sums in another order, and kernels of another version (1e-6 measured)"),
    stages.GRADIENTS: StageTolerance(64, "the same, through every layer backwards; oneDNN alone moves 5e-7"),
    stages.COMBINED: StageTolerance(64, "the gradients' difference, averaged"),
    stages.WEIGHTS: StageTolerance(16, "a step moves a weight by a small part of itself"),
    stages.SLOTS: StageTolerance(128, "squares of gradients double their relative difference"),
    stages.STATISTICS: StageTolerance(32, "moments of activations, in another order"),
    stages.AVERAGES: StageTolerance(16, "averages of the weights"),
    stages.METRICS: StageTolerance(64, "sums in another order, through all layers"),
}


def exact(stage: str, dtype: np.dtype, replicas: int, step: int) -> float:
    """Returns 0, whatever the stage, dtype, replicas and step: bits must be identical.

    Args:
      stage: one of `stages.STAGES`.
      dtype: of the tensor.
      replicas: number of replicas.
      step: steps since both sides had the same state.

    Returns:
      0.0.
    """
    return 0.0


def auto(stage: str, dtype: np.dtype, replicas: int, step: int) -> float:
    """Returns the relative difference that rounding alone explains.

    Args:
      stage: one of `stages.STAGES`.
      dtype: of the tensor; its epsilon is the unit.
      replicas: number of replicas; each addition of the all-reduce may round once, so the allowance grows with their
        square root.
      step: steps since both sides had the same state; 0 for a step from the same state. Each step adds one allowance.
        Training may amplify faster than that, which is why steps are judged one by one.

    Returns:
      The largest allowed `max_rel`; see `difference.Difference`.
    """
    return BASE[stage].ulps * float(np.finfo(dtype).eps) * float(np.sqrt(replicas)) * (step + 1)


#: {name: tolerance}: the values of `--tolerance`.
TOLERANCES: dict[str, Tolerance] = {"exact": exact, "auto": auto}


def reason(stage: str) -> str:
    """Returns why the stage has the tolerance it has, for reports."""
    return BASE[stage].reason


#: float32 ulps by which Keras's formulas differ from 1.x's in any precision: one of the two computes 1 - beta and its
#: like from a constant that was rounded to float32. It is less than a change of the constant by a millionth.
KERAS_UNITS = 4.0


#: float32 ulps by which a written port may differ from an old graph in float64 without being known for other
#: mathematics: the product of two constants, such as 0.1 and 0.3, may be one rounded number, 0.03, or two.
CONSTANT_UNITS = KERAS_UNITS


def keras_units(optimizer: Optimizer, update_rules: str) -> dict[str, float]:
    """Returns {stage: float32 ulps} that Keras's formulas need beyond `BASE`; empty for the 1.x kernels.

    See `workloads.optimizers.KerasClass.update_units`.
    """
    return _other_formulas(optimizer) if update_rules == "keras" else {}


def recorded_units(optimizer: Optimizer) -> dict[str, float]:
    """Returns {stage: float32 ulps} that another framework's recording needs beyond `BASE`.

    A loop of one's own raises Adam's constants to the step's number as Keras does, and has learning rates, decays and
    other constants in float64 where 1.x has float32 numbers.
    """
    return {**dict.fromkeys(DEEP, KERAS_UNITS), stages.AVERAGES: KERAS_UNITS, **_other_formulas(optimizer)}


def _other_formulas(optimizer: Optimizer) -> dict[str, float]:
    described = optimizer.keras_class()
    if described is None:
        return {}
    return dict.fromkeys((stages.WEIGHTS, stages.SLOTS, stages.AVERAGES), max(KERAS_UNITS, described.update_units))


#: The first TensorFlow that is known to add all numbers of a tensor pairwise: in 1.15.5 a mean of six million is within
#: two float32 ulps.
PAIRWISE_SINCE = (1, 15)


def running_sum_units(length: int) -> float:
    """Returns the float32 ulps by which an old TensorFlow's sum of `length` numbers may be off.

    Its kernels keep a running sum in float32. Each addition rounds the sum so far, up or down: a random walk, of the
    length's square root. A mean of 600,000 numbers was measured 6e-5 off in 0.12, which is 500 ulps; this allows 775.

    Args:
      length: how many numbers are added to one.

    Returns:
      The ulps, to be allowed in place of the base tolerance where they are more.
    """
    return float(np.sqrt(length))


#: A difference may be this many times what rounding of the weights does to the tensor in the same step. The response
#: is the largest of a few draws; two sides differ by the rounding of both, and of every operation besides the weights.
RESPONSE_FACTOR = 4.0

#: Last bits of the weights whose change stands for the rounding of another TensorFlow's kernels, which add in another
#: order. It moves the layers of the CIFAR-10 trainer 3 to 4 times as far as 2.21's kernels are from 1.4's (measured, as
#: largest differences of any element), so that eight draws rarely miss a kink that those have crossed.
KERNEL_ULPS = 8

#: Stages whose rounding passes through all layers, so that it grows with their number.
DEEP = (
    stages.ACTIVATIONS,
    stages.LOSS,
    stages.ACTIVATION_GRADIENTS,
    stages.GRADIENTS,
    stages.COMBINED,
    stages.SLOTS,
    stages.STATISTICS,
)


def double(stage: str, dtype: np.dtype, replicas: int, depth: int) -> float:
    """Returns the relative difference allowed to two float64 programs that compute the same mathematics.

    Args:
      stage: one of `stages.STAGES`.
      dtype: of the tensor; learning rates and accumulators stay float32.
      replicas: number of replicas.
      depth: bound of the number of layers, such as the number of weights: rounding errors add up from layer to layer.

    Returns:
      The largest allowed `max_rel`: about 1e-14 for weights, and below 1e-11 for the gradients of a hundred layers.
    """
    return auto(stage, dtype, replicas, 0) * (max(depth, 1) if stage in DEEP else 1)


#: ulps by which all gradients together may be too long or too short; see `factor`.
FACTOR_UNITS = 16


def factor(dtype: str, replicas: int, truth: float) -> float:
    """Returns the relative factor allowed over all tensors of a stage together, in the median step.

    Rounding goes up as often as down, so a factor common to all elements is far smaller than the difference of one
    element may be: a scale error shows here long before it does in any tensor's worst element.

    Args:
      dtype: of the run.
      replicas: number of replicas.
      truth: the largest factor, less one, between legacy and the same step in the other precision.

    Returns:
      The largest allowed |factor - 1|.
    """
    return float(max(FACTOR_UNITS * np.finfo(dtype).eps * np.sqrt(replicas), FLOOR_FACTOR * truth))
