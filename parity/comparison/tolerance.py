"""What may differ, by how much, and why. Every number here has its reason beside it."""

from __future__ import annotations

import numpy as np

from parity.comparison import stages

NAMES = ("exact", "auto")

#: A difference may be this many times the distance of legacy from the float64 truth in the median step: two
#: sides equally far from the truth are at most twice that apart, and a tensor's worst element varies about
#: fourfold from step to step (measured on the five systems).
FLOOR_FACTOR = 8.0

#: {stage: (ulps of the tensor's largest entry allowed in the first step, why)}
BASE = {
    stages.INITIAL: (0, "initial values are made once and loaded into both sides"),
    stages.BATCH: (0, "batches are made once; digests are equal or not"),
    stages.RATE: (2, "one pow in float32; two libm's may round it differently"),
    stages.LOSS: (16, "a mean of sums in another order, and kernels of another version (1e-6 measured)"),
    stages.GRADIENTS: (64, "the same, through every layer backwards; oneDNN alone moves 5e-7"),
    stages.COMBINED: (64, "the gradients' difference, averaged"),
    stages.WEIGHTS: (16, "a step moves a weight by a small part of itself"),
    stages.SLOTS: (128, "squares of gradients double their relative difference"),
    stages.STATISTICS: (32, "moments of activations, in another order"),
    stages.AVERAGES: (16, "averages of the weights"),
}


def exact(stage, dtype, replicas, step):
    """Identical bits: nothing may differ, whatever the stage, dtype, replicas and step."""
    return 0.0


def keras_units(optimizer, update_rules):
    """{stage: ulps} that Keras's formulas need beyond `BASE`; empty for the 1.x kernels.

    See `workloads.optimizers.KerasClass.update_units`.
    """
    described = optimizer.keras_class() if update_rules == "keras" else None
    if described is None or not described.update_units:
        return {}
    return {stages.WEIGHTS: described.update_units, stages.AVERAGES: described.update_units}


def auto(stage, dtype, replicas, step):
    """Relative difference allowed on account of rounding alone.

    Args:
      stage: one of `stages.STAGES`.
      dtype: of the tensor; its epsilon is the unit.
      replicas: each addition of the all-reduce may round once, so the allowance grows with their root.
      step: how many steps ago both sides had the same state; 0 for a step from the same state. Each step adds one
        allowance. Training may amplify faster than that, which is why steps are judged one by one.

    Returns:
      The largest allowed `max_rel`; see `compare.Difference`.
    """
    units, _ = BASE[stage]
    return units * np.finfo(dtype).eps * np.sqrt(replicas) * (step + 1)


#: Gradients may move by this much of their length when a rectifier or a maximum goes the other way.
KINK_LIMIT = 0.05

#: In one step of so many may that happen. A fault in the port shows in nearly every step; a kink is an accident.
KINK_EVERY = 5


def is_kink(first_stage, left, right):
    """Whether a step's difference is what a kink makes, and no more.

    A rectifier whose input lies within rounding of zero may pass it on one side and block it on the other. The
    loss is continuous there and agrees, so the gradients are the first stage to differ, by one activation's
    share of them; float32 networks of 1e5 activations meet this about once in twenty steps (measured against
    float64).

    Args:
      first_stage: the first stage beyond its allowance.
      left, right: the two `StepRecord`s, from the same state.
    """
    if first_stage != stages.GRADIENTS:
        return False
    pairs = [(left.combined[name], right.combined[name]) for name in left.combined]
    gap = sum(float(np.sum(np.square(np.asarray(b, np.float64) - a))) for a, b in pairs)
    whole = sum(float(np.sum(np.square(np.asarray(a, np.float64)))) for a, _ in pairs)
    return bool(np.isfinite(gap)) and gap <= KINK_LIMIT**2 * whole


def kinks_allowed(steps):
    """How many of `steps` steps may differ by a kink."""
    return max(1, steps // KINK_EVERY)


#: ulps by which all gradients together may be too long or too short; see `factor`.
FACTOR_UNITS = 16


def factor(dtype, replicas, truth):
    """Relative factor allowed over all of a stage's tensors together, in the median step.

    Rounding goes up as often as down, so a factor common to all elements is far smaller than what one element may
    differ by: a scale error shows here long before it does in any tensor's worst element.

    Args:
      truth: the largest factor, less one, between legacy and the same step in the other precision.
    """
    return max(FACTOR_UNITS * np.finfo(dtype).eps * np.sqrt(replicas), FLOOR_FACTOR * truth)


def reason(stage):
    """Why the stage has the allowance it has."""
    return BASE[stage][1]


RULES = {"exact": exact, "auto": auto}
