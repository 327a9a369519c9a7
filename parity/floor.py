"""The measured floor: how far legacy itself is from the truth, and from a second run of itself.

Truth is the same job in float64, from the same initial values and batches. A port may be as far from legacy as
rounding has carried legacy from the truth; where training amplifies rounding, no formula knows that distance,
but this run does.
"""

from __future__ import annotations

import collections

import numpy as np

from parity.compare import compare, relative
from parity.stages import BATCH


class Floor:
    """Runs beside a comparison, one step at a time.

    Args:
      again: a second `Program` like the left one, or None.
      truth: the left program in the other precision. For a float32 run that is float64. For a float64 run it is
        float32: the distance is then scaled by the two epsilons' ratio, since rounding errors scale with it.
      dtype: of the run.
    """

    def __init__(self, again, truth, dtype):
        self._again = again
        self._truth = truth
        self._dtype = np.dtype(dtype)
        other = np.dtype("float64" if self._dtype == np.float32 else "float32")
        self._scale = float(np.finfo(self._dtype).eps / max(np.finfo(other).eps, np.finfo(self._dtype).eps))
        self._true_dtype = other
        self._tensors = collections.defaultdict(float)
        self.stages = {}

    def load(self, state):
        """Starts both runs from `state` (locked mode)."""
        if self._again is not None:
            self._again.load(state)
        self._truth.load(state.cast(self._true_dtype))

    def step(self, left, right, tensors):
        """Takes the step that `left` and `right` are the records of.

        Args:
          tensors: function from a record to its (stage, name, array)s.

        Returns:
          {(stage, name): relative distance of legacy from the truth, the largest so far}.
        """
        truth = self._truth.step()
        again = tensors(self._again.step()) if self._again is not None else tensors(left)
        for (stage, name, a), (_, _, b), (_, _, c), (_, _, t) in zip(tensors(left), tensors(right), again, tensors(truth)):
            if stage == BATCH:
                continue
            key = (stage, name)
            distance = self._distance(a, t)
            self._tensors[key] = max(self._tensors[key], distance)
            seen = self.stages.setdefault(stage, StageFloor())
            seen.left = max(seen.left, distance)
            seen.right = max(seen.right, self._distance(b, t))
            seen.again = max(seen.again, compare(name, a, c).max_rel)
            seen.tensors[name] = self._tensors[key]
        return self._tensors

    def _distance(self, array, truth):
        wide = array.astype(np.float64) if array.dtype.kind == "f" else array
        gap = compare("", truth.astype(np.float64), wide)
        return gap.max_rel * self._scale if np.isfinite(gap.max_rel) else 0.0


class StageFloor:
    """Largest relative distances of one stage over tensors and steps.

    Attributes:
      left, right: legacy and modern from the truth.
      again: legacy from a second run of itself.
      tensors: {name: legacy's largest distance so far}.
    """

    def __init__(self):
        self.left = 0.0
        self.right = 0.0
        self.again = 0.0
        self.tensors = {}

    def typical(self):
        """The median tensor's distance: what a tensor gets that by luck agreed with the truth."""
        return float(np.median(list(self.tensors.values()))) if self.tensors else 0.0

    def to_json(self):
        """For the report."""
        return {"legacy_to_truth": self.left, "modern_to_truth": self.right, "legacy_to_itself": self.again,
                "modern_over_legacy": relative(self.right, self.left)}
