"""What may differ, by how much, and why. Every number here has its reason beside it."""

from __future__ import annotations

import numpy as np

from parity import stages

NAMES = ("exact", "auto")

#: A difference may be this many times the distance of legacy from the float64 truth: two runs that are equally
#: far from the truth are at most twice that apart, and the worst element of a tensor varies about twofold.
FLOOR_FACTOR = 4.0

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


def auto(stage, dtype, replicas, step):
    """Relative difference allowed on account of rounding alone.

    Args:
      stage: one of `stages.STAGES`.
      dtype: of the tensor; its epsilon is the unit.
      replicas: each addition of the all-reduce may round once, so the allowance grows with their root.
      step: from 0. In a free run each step starts from the last one's difference, so it adds one allowance a step;
        training may amplify faster than that, which is what the measured floor is for.

    Returns:
      The largest allowed `max_rel`; see `compare.Difference`.
    """
    units, _ = BASE[stage]
    return units * np.finfo(dtype).eps * np.sqrt(replicas) * (step + 1)


def reason(stage):
    """Why the stage has the allowance it has."""
    return BASE[stage][1]


RULES = {"exact": exact, "auto": auto}
