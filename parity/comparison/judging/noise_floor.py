"""Measured noise floor: distance of legacy's step from the same step in the other precision, and from its repetition.

The truth is the same step in the other precision, from the same state and batch. A port's step may be as far from
legacy's as rounding carries legacy's from the truth: no formula knows that distance, but this run measures it. It is
measured on the repetition, which runs here, and not on the record that is compared: that may be read from a recording,
whose distance from the truth is what is to be judged.
"""

from __future__ import annotations

import bisect
import collections

import numpy as np

from parity.comparison.difference import compare, relative_gap
from parity.comparison.fits import fit_factor
from parity.comparison.floats import relative
from parity.comparison.judging.reference_magnitude import ReferenceMagnitudes
from parity.comparison.references import OTHER, ReferenceRecords
from parity.comparison.stages import BATCH, FACTORED, aligned_tensors
from workloads.program import StepRecord

#: A tensor is rounding noise in float32 if the median step's is off by more than this part of its largest entry.
NOISE = 0.1


class NoiseFloor:
    """Distances of legacy's steps from the truth, tensor by tensor.

    Args:
      dtype: of the run. For a float32 run the truth is float64. For a float64 run it is float32: the distance is then
        scaled by the ratio of the two epsilons, since rounding errors scale with it.
    """

    def __init__(self, dtype: str) -> None:
        self._scale = min(1.0, float(np.finfo(dtype).eps) / float(np.finfo(OTHER[dtype]).eps))
        self._stages: collections.defaultdict[str, StageFloor] = collections.defaultdict(StageFloor)
        self._factors: dict[str, float] = {}

    def add(
        self, left: StepRecord, right: StepRecord, references: ReferenceRecords, magnitudes: ReferenceMagnitudes
    ) -> None:
        """Measures one step.

        Args:
          left: legacy's record.
          right: the port's record of the same step from the same state.
          references: the records of the same step that `References` took.
          magnitudes: to which `left` was added.
        """
        truth = references.truth
        if truth is None:
            for (stage, name, a), (_, _, c) in zip(*aligned_tensors(left, references.again)):
                if stage != BATCH:
                    self._stages[stage].add_repetition(compare(name, a, c, magnitudes.magnitude(stage, name)).max_rel)
            return
        for stage, values in FACTORED.items():
            fit = fit_factor(values(references.again), values(truth))
            self._factors[stage] = max(self._factors.get(stage, 0.0), abs(fit.factor - 1) * self._scale)
        four = zip(*aligned_tensors(left, right, references.again, truth))
        for (stage, name, a), (_, _, b), (_, _, c), (_, _, true) in four:
            if stage != BATCH:
                size = magnitudes.magnitude(stage, name)
                self._stages[stage].add_repetition(compare(name, a, c, size).max_rel)
                self._stages[stage].add(name, self._distance(c, true, size), self._distance(b, true, size))

    def factor(self, stage: str) -> float:
        """Returns the largest factor, less one, between legacy's and the truth's tensors of a stage in one step."""
        found = self._factors.get(stage, 0.0)
        return found if np.isfinite(found) else 0.0

    def allowance(self, stage: str, name: str) -> float:
        """Returns this tensor's own relative distance from the truth in legacy's program, in the median step."""
        return self._stages[stage].allowance(name) if stage in self._stages else 0.0

    def noise(self) -> list[tuple[str, str]]:
        """Returns (stage, name) of the tensors that float32 does not determine; see `NOISE`."""
        return [(stage, name) for stage, floor in self._stages.items() for name in floor.names_beyond(NOISE)]

    def to_json(self) -> dict[str, dict[str, float]]:
        """Returns {stage: {measure: largest relative distance}}."""
        return {stage: floor.to_json() for stage, floor in self._stages.items()}

    def _distance(self, array: np.ndarray, truth: np.ndarray, magnitude: float) -> float:
        wide = [np.asarray(value, np.float64) for value in (truth, array)]
        distance = relative_gap(wide[0], wide[1], magnitude) * self._scale
        return distance if np.isfinite(distance) else 0.0


class StageFloor:
    """Relative distances of one stage: each tensor's in every step, and the largest of all."""

    def __init__(self) -> None:
        self._distances: collections.defaultdict[str, list[float]] = collections.defaultdict(list)
        self._left = self._right = self._again = 0.0

    def add(self, name: str, left: float, right: float) -> None:
        """Adds one tensor of one step.

        Args:
          name: the tensor's name.
          left: relative distance of legacy's program from the truth.
          right: relative distance of the right side from the truth.
        """
        bisect.insort(self._distances[name], left)
        self._left = max(self._left, left)
        self._right = max(self._right, right)

    def add_repetition(self, distance: float) -> None:
        """Adds the relative distance of one tensor of the left side from its own repetition."""
        self._again = max(self._again, distance)

    def allowance(self, name: str) -> float:
        """Returns `NoiseFloor.allowance`."""
        return _median(self._distances.get(name, []))

    def names_beyond(self, distance: float) -> list[str]:
        """Returns the tensors whose median distance is larger."""
        return [name for name, steps in self._distances.items() if _median(steps) > distance]

    def to_json(self) -> dict[str, float]:
        """Returns the largest distances, for the report; without a truth only that from the repetition."""
        measured = {"legacy_to_itself": self._again}
        if self._distances:
            measured["legacy_to_truth"] = self._left
            measured["modern_to_truth"] = self._right
            measured["modern_over_legacy"] = relative(self._right, self._left)
        return measured


def _median(ordered: list[float]) -> float:
    return ordered[len(ordered) // 2] if ordered else 0.0
