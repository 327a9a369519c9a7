"""Measured noise floor: legacy's distance from the same step in the other precision, and from its own repetition.

The truth is the same step in the other precision, from the same state and batch. A port's step may be as far from
legacy's as rounding carries legacy's from the truth: no formula knows that distance, but this run measures it.
"""

from __future__ import annotations

import bisect
import collections

import numpy as np

from parity.comparison.difference import compare, relative
from parity.comparison.fits import fit_factor
from parity.comparison.reference_magnitude import ReferenceMagnitudes
from parity.comparison.stages import BATCH, FACTORED, tensors
from workloads.program import Program, State, StepRecord


class NoiseFloor:
    """Repeats each step of a comparison from the left side's state, in the same and in the other precision.

    Args:
      again: a second program like the left one.
      truth: the left program in the other precision. For a float32 run that is float64. For a float64 run it is
        float32: the distance is then scaled by the ratio of the two epsilons, since rounding errors scale with it.
      dtype: of the run.
    """

    def __init__(self, again: Program, truth: Program, dtype: str) -> None:
        self._again = again
        self._truth = truth
        self._truth_dtype = "float64" if dtype == "float32" else "float32"
        self._scale = min(1.0, float(np.finfo(dtype).eps) / float(np.finfo(self._truth_dtype).eps))
        self._stages: collections.defaultdict[str, StageFloor] = collections.defaultdict(StageFloor)
        self._factors: dict[str, float] = {}

    def load(self, state: State) -> None:
        """Makes `state` the one that the next step starts from."""
        self._again.load(state)
        self._truth.load(state.cast(self._truth_dtype))

    def step(self, left: StepRecord, right: StepRecord, magnitudes: ReferenceMagnitudes) -> None:
        """Takes the step that was recorded as `left` and `right`, both from the state that was loaded.

        Args:
          left: legacy's record.
          right: the port's record.
          magnitudes: to which `left` was added.
        """
        again, truth = self._again.step(), self._truth.step()
        for stage, values in FACTORED.items():
            fit = fit_factor(values(left), values(truth))
            self._factors[stage] = max(self._factors.get(stage, 0.0), abs(fit.factor - 1) * self._scale)
        for (stage, name, a), (_, _, b), (_, _, c), (_, _, true) in zip(*map(tensors, (left, right, again, truth))):
            if stage != BATCH:
                size = magnitudes.magnitude(stage, name)
                repeated = compare(name, a, c, size).max_rel
                distances = self._distance(a, true, size), self._distance(b, true, size)
                self._stages[stage].add(name, *distances, repeated)

    def factor(self, stage: str) -> float:
        """Returns the largest factor, less one, between legacy's and the truth's tensors of a stage in one step."""
        found = self._factors.get(stage, 0.0)
        return found if np.isfinite(found) else 0.0

    def allowance(self, stage: str, name: str) -> float:
        """Returns legacy's relative distance from the truth in the median step.

        It is this tensor's distance, or the distance that nine in ten tensors of its stage stay below, if that is
        larger. The median, because a step in which a rectifier goes the other way (see `tolerance.is_kink`) says
        nothing about the others.
        """
        return self._stages[stage].allowance(name) if stage in self._stages else 0.0

    def to_json(self) -> dict[str, dict[str, float]]:
        """Returns {stage: {measure: largest relative distance}}."""
        return {stage: floor.to_json() for stage, floor in self._stages.items()}

    def close(self) -> None:
        """Ends both programs."""
        self._again.close()
        self._truth.close()

    def _distance(self, array: np.ndarray, truth: np.ndarray, magnitude: float) -> float:
        wide = [np.asarray(value, np.float64) for value in (truth, array)]
        distance = compare("", wide[0], wide[1], magnitude).max_rel * self._scale
        return distance if np.isfinite(distance) else 0.0


class StageFloor:
    """Relative distances of one stage: each tensor's in every step, and the largest of all."""

    def __init__(self) -> None:
        self._distances: collections.defaultdict[str, list[float]] = collections.defaultdict(list)
        self._typical: float | None = None
        self._left = self._right = self._again = 0.0

    def add(self, name: str, left: float, right: float, again: float) -> None:
        """Adds one tensor of one step.

        Args:
          name: the tensor's name.
          left: relative distance of the left side from the truth.
          right: relative distance of the right side from the truth.
          again: relative distance of the left side from its own repetition.
        """
        bisect.insort(self._distances[name], left)
        self._typical = None
        self._left = max(self._left, left)
        self._right = max(self._right, right)
        self._again = max(self._again, again)

    def allowance(self, name: str) -> float:
        """Returns `NoiseFloor.allowance`. A tensor that agreed with the truth by luck gets what its stage got."""
        if self._typical is None:
            self._typical = float(np.percentile([_median(steps) for steps in self._distances.values()], 90))
        return max(_median(self._distances[name]), self._typical)

    def to_json(self) -> dict[str, float]:
        """Returns the largest distances, for the report."""
        return {
            "legacy_to_itself": self._again,
            "legacy_to_truth": self._left,
            "modern_to_truth": self._right,
            "modern_over_legacy": relative(self._right, self._left),
        }


def _median(ordered: list[float]) -> float:
    return ordered[len(ordered) // 2] if ordered else 0.0
