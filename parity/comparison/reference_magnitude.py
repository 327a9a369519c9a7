"""What a tensor's difference is relative to: how large its entries and their addends have lately been."""

from __future__ import annotations

import collections

import numpy as np

from parity.comparison import stages

#: Steps that are remembered.
WINDOW = 10


class Scales:
    """Remembers, for every tensor of the left side, its largest entry in the last `WINDOW` steps.

    A gradient that passes through zero, or a slot that changes sign, is small at that moment and no more precise
    than before: rounding is relative to what was added up. For combined gradients the replicas' own gradients
    are what was added up, and count too.
    """

    def __init__(self):
        self._recent = collections.defaultdict(lambda: collections.deque(maxlen=WINDOW))
        self._now = {}

    def step(self, record):
        """Takes in the left side's record of a step, before that step is compared."""
        self._now = {}
        for stage, name, array in stages.tensors(record):
            if array.dtype.kind == "f":
                recent = self._recent[stage, name]
                recent.append(_largest(array))
                self._now[stage, name] = max(recent)
        for name in record.combined:
            addends = [_largest(gradients[name]) for gradients in record.gradients if name in gradients]
            self._now[stages.COMBINED, name] = max([self._now[stages.COMBINED, name]] + addends)

    def of(self, stage, name):
        """The scale of one tensor in the step last taken in; 0 if there is none."""
        return self._now.get((stage, name), 0.0)


def _largest(array):
    finite = np.abs(array[np.isfinite(array)]) if array.ndim else np.abs(array[np.newaxis][np.isfinite([array])])
    return float(finite.max(initial=0.0))
