"""The measured floor: how far one legacy step is from the truth, and from the same step taken again.

Truth is the same step in the other precision, from the same state and batch. A port's step may be as far from
legacy's as rounding carries legacy's from the truth: no formula knows that distance, but this run does.
"""

from __future__ import annotations

import bisect
import collections

import numpy as np

from parity.comparison.difference import compare, relative
from parity.comparison.fits import fit_factor
from parity.comparison.stages import BATCH, FACTORED, tensors


class Floor:
    """Takes each step of a comparison once more, from the left side's state.

    Args:
      again: a second `Program` like the left one.
      truth: the left program in the other precision. For a float32 run that is float64. For a float64 run it is
        float32: the distance is then scaled by the two epsilons' ratio, since rounding errors scale with it.
      dtype: of the run.
    """

    def __init__(self, again, truth, dtype):
        self._again = again
        self._truth = truth
        dtype = np.dtype(dtype)
        self._truth_dtype = np.dtype("float64" if dtype == np.float32 else "float32")
        self._scale = min(1.0, float(np.finfo(dtype).eps) / float(np.finfo(self._truth_dtype).eps))
        self._stages = collections.defaultdict(StageFloor)
        self._factors = {}

    def load(self, state):
        """Makes `state` the one that the next step starts from."""
        self._again.load(state)
        self._truth.load(state.cast(self._truth_dtype))

    def step(self, left, right, scales):
        """Takes the step that `left` and `right` are the records of, both from the state that was loaded.

        Args:
          scales: `scales.Scales` that has taken in `left`.
        """
        records = (left, right, self._again.step(), self._truth.step())
        for stage, values in FACTORED.items():
            both = fit_factor(values(left), values(records[-1]))
            self._factors[stage] = max(self._factors.get(stage, 0.0), abs(both.factor - 1) * self._scale)
        for (stage, name, a), (_, _, b), (_, _, c), (_, _, truth) in zip(*map(tensors, records)):
            if stage != BATCH:
                size = scales.of(stage, name)
                again = compare(name, a, c, size).max_rel
                self._stages[stage].add(name, self._distance(a, truth, size), self._distance(b, truth, size), again)

    def factor(self, stage):
        """Largest factor, less one, between legacy's and the truth's tensors of a stage in one step."""
        found = self._factors.get(stage, 0.0)
        return found if np.isfinite(found) else 0.0

    def allowance(self, stage, name):
        """Legacy's relative distance from the truth in the median step: of this tensor, or of nine in ten of its stage.

        The median, because a step in which a rectifier goes the other way (see `tolerance.is_kink`) is no measure
        of the others.
        """
        return self._stages[stage].allowance(name) if stage in self._stages else 0.0

    def to_json(self):
        """{stage: {measure: largest relative distance}}."""
        return {stage: seen.to_json() for stage, seen in self._stages.items()}

    def close(self):
        """Ends both programs."""
        self._again.close()
        self._truth.close()

    def _distance(self, array, truth, scale):
        wide = [np.asarray(value, np.float64) for value in (truth, array)]
        distance = compare("", *wide, scale).max_rel * self._scale
        return distance if np.isfinite(distance) else 0.0


class StageFloor:
    """Relative distances of one stage: of each tensor in every step, and the largest of all."""

    def __init__(self):
        self._distances = collections.defaultdict(list)
        self._typical = None
        self._left = self._right = self._again = 0.0

    def add(self, name, left, right, again):
        """Takes in one tensor of one step: left and right from the truth, left from left again."""
        bisect.insort(self._distances[name], left)
        self._typical = None
        self._left = max(self._left, left)
        self._right = max(self._right, right)
        self._again = max(self._again, again)

    def allowance(self, name):
        """See `Floor.allowance`. A tensor that agreed with the truth by luck gets what its stage got."""
        if self._typical is None:
            self._typical = float(np.percentile([_median(steps) for steps in self._distances.values()], 90))
        return max(_median(self._distances[name]), self._typical)

    def to_json(self):
        """For the report."""
        return {
            "legacy_to_itself": self._again,
            "legacy_to_truth": self._left,
            "modern_to_truth": self._right,
            "modern_over_legacy": relative(self._right, self._left),
        }


def _median(ordered):
    return ordered[len(ordered) // 2] if ordered else 0.0
