"""Summary of one stage over all steps: how many elements differ, by how much, and the tensor nearest to its limit."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from parity.comparison.difference import Difference


@dataclasses.dataclass
class StageSummary:
    """One stage over all steps: the worst of each measure, and the tensor nearest to (or beyond) its tolerance.

    Attributes:
      tensors: number of tensors compared.
      elements: number of elements compared.
      differing_elements: elements with other bits.
      max_abs: largest absolute difference.
      max_rel: largest difference relative to the tensor's reference magnitude.
      max_ulp: largest number of representable values between two elements.
      nonfinite: NaNs and infinities that both sides have in the same places.
      worst: `Difference` with the largest share of its tolerance.
      worst_step: its step.
      worst_allowed: its tolerance, as `max_rel`.
      worst_share: `max_rel / worst_allowed`; infinite beyond the tolerance, -1 before any difference.
      first_difference: step at which bits first differ, or None.
      failed: step at which a tensor first went beyond its tolerance, or None.
    """

    tensors: int = 0
    elements: int = 0
    differing_elements: int = 0
    max_abs: float = 0.0
    max_rel: float = 0.0
    max_ulp: int = 0
    nonfinite: int = 0
    worst: Difference | None = None
    worst_step: int = 0
    worst_allowed: float = 0.0
    worst_share: float = -1.0
    first_difference: int | None = None
    failed: int | None = None

    def add(self, step: int, difference: Difference, allowed: float) -> bool:
        """Adds one tensor of one step.

        Args:
          step: number of the step.
          difference: the tensor's difference.
          allowed: its tolerance, as `max_rel`; 0 asks for identical bits.

        Returns:
          Whether the tensor is within its tolerance.
        """
        self.tensors += 1
        self.elements += difference.size
        self.nonfinite += difference.nonfinite
        if difference.identical:
            return True
        self.differing_elements += difference.differing
        self.max_abs = max(self.max_abs, difference.max_abs)
        self.max_rel = max(self.max_rel, difference.max_rel)
        self.max_ulp = max(self.max_ulp, difference.max_ulp)
        if self.first_difference is None:
            self.first_difference = step
        within = difference.max_rel <= allowed and not difference.nonfinite_mismatch and allowed > 0.0
        share = difference.max_rel / allowed if within else np.inf
        if share > self.worst_share:
            self.worst, self.worst_step, self.worst_allowed, self.worst_share = difference, step, allowed, share
        if not within and self.failed is None:
            self.failed = step
        return within

    def to_json(self) -> dict[str, Any]:
        """Returns the summary for the report."""
        fields = {
            f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in ("worst", "worst_share")
        }
        fields["worst"] = None if self.worst is None else dataclasses.asdict(self.worst)
        return fields
