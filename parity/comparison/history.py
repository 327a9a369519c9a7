"""History of a comparison: both sides' loss in each step, and how far each tensor differs. Kept for the HTML report."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from parity.comparison.difference import Difference
from workloads.program import StepRecord


class LossPair(NamedTuple):
    """The mean of the replicas' losses in one step, of each side."""

    step: int
    left: float
    right: float


class TensorStep(NamedTuple):
    """One tensor of one step.

    Attributes:
      stage: one of `stages.STAGES`.
      name: of the tensor within its stage.
      step: number of the step.
      relative: `Difference.max_rel`; infinite where only one side has NaN or infinity.
      allowed: the tolerance, as `max_rel`; 0 asks for identical bits.
    """

    stage: str
    name: str
    step: int
    relative: float
    allowed: float

    @property
    def within(self) -> bool:
        """Whether the difference is within the tolerance."""
        return self.relative <= self.allowed


def mean_loss(losses: Sequence[np.ndarray]) -> float | None:
    """The mean of the replicas' losses; None of none. Where devices differ, losses may have shapes of their own."""
    return float(np.mean([np.mean(loss, dtype=np.float64) for loss in losses])) if len(losses) else None


@dataclasses.dataclass
class History:
    """All steps of a run; its memory grows with their number.

    Attributes:
      losses: one entry a step.
      names: {stage: names of its tensors, in the order of the records}.
      differences: the tensors whose bits differ; all others were identical.
    """

    losses: list[LossPair] = dataclasses.field(default_factory=list)
    names: dict[str, dict[str, None]] = dataclasses.field(default_factory=dict)
    differences: list[TensorStep] = dataclasses.field(default_factory=list)

    def add_losses(self, left: StepRecord, right: StepRecord) -> None:
        """Adds the losses of one step."""
        sides = [mean_loss(record.losses) for record in (left, right)]
        self.losses.append(LossPair(left.step, *(float("nan") if side is None else side for side in sides)))

    def add(self, step: int, stage: str, difference: Difference, allowed: float) -> None:
        """Adds one tensor of one step.

        Args:
          step: number of the step.
          stage: one of `stages.STAGES`.
          difference: of the tensor.
          allowed: its tolerance, as `max_rel`.
        """
        self.names.setdefault(stage, {})[difference.name] = None
        if not difference.identical:
            relative = float("inf") if difference.nonfinite_mismatch else difference.max_rel
            self.differences.append(TensorStep(stage, difference.name, step, relative, allowed))
