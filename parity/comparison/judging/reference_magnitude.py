"""Reference magnitudes for relative error: the largest entry of a tensor and its addends over the last ten steps."""

from __future__ import annotations

import collections

import numpy as np

from parity.comparison import stages
from workloads.program import StepRecord

#: Steps over which the largest entry is taken.
WINDOW = 10


class ReferenceMagnitudes:
    """The largest entry of every tensor of the left side over the last `WINDOW` steps.

    Rounding is relative to the addends of a sum, not to the sum: a gradient that passes through zero, or a slot that
    changes sign, is small at that moment and no more precise than before. The addends of a combined gradient are the
    replicas' gradients, so their entries count too.

    Attributes:
      weights: number of weights that the last record has a combined gradient of.
    """

    def __init__(self) -> None:
        self._recent: dict[tuple[str, str], collections.deque[float]] = {}
        self._now: dict[tuple[str, str], float] = {}
        self.weights = 0

    def add(self, record: StepRecord) -> None:
        """Adds the left side's record of a step, before that step is compared."""
        self._now, self.weights = {}, len(record.combined)
        for stage, name, array in stages.aligned_tensors(record)[0]:
            if array.dtype.kind == "f":
                recent = self._recent.setdefault((stage, name), collections.deque(maxlen=WINDOW))
                recent.append(_largest_entry(array))
                self._now[stage, name] = max(recent)
        for name in record.combined:
            addends = [_largest_entry(gradients[name]) for gradients in record.gradients if name in gradients]
            self._now[stages.COMBINED, name] = max([self._now[stages.COMBINED, name], *addends])

    def add_repetition(self, record: StepRecord) -> None:
        """Adds the record of the same step by the left side's program here, after that of the left side.

        A gradient that is rounding noise, as of a bias that a normalization takes away, may be 0 in a recording, and
        only noise in its repetition; each is of the other's magnitude.
        """
        for stage, name, array in stages.aligned_tensors(record)[0]:
            if (stage, name) in self._now:
                self._now[stage, name] = max(self._now[stage, name], _largest_entry(array))

    def magnitude(self, stage: str, name: str) -> float:
        """Returns the reference magnitude of one tensor in the step that was added last; 0 for an unknown tensor."""
        return self._now.get((stage, name), 0.0)


def _largest_entry(array: np.ndarray) -> float:
    """Largest finite |entry| of an array or a scalar; 0 if there is none."""
    entries = np.abs(np.atleast_1d(array))
    return float(entries[np.isfinite(entries)].max(initial=0.0))
