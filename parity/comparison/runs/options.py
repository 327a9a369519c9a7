"""Options of a comparison: the stages that have to agree, further programs, and observers of the steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from parity.comparison.history import History
from parity.comparison.references import References
from parity.comparison.result import Failure, Verification
from parity.comparison.tour import Tour
from workloads.program import Program, State, StepRecord


class StepCheck(Protocol):
    """Judges steps that both sides took from the same state, from what each side recorded."""

    def add(self, left: StepRecord, right: StepRecord, before: State) -> None:
        """Checks one step.

        Args:
          left, right: the sides' records.
          before: the state that both took it from.
        """

    def failures(self) -> list[Failure]:
        """Returns the failures, in the order of steps and stages."""


@dataclasses.dataclass(frozen=True)
class Criterion:
    """Criterion of agreement: which steps are compared, and how much each stage may differ.

    Attributes:
      mode: "free" lets both run their own trajectory; "locked" starts each of the right one's steps from the left one's
        state, so that a difference in a step was made in that step.
      tolerance_name: "exact" or "auto"; see `tolerance`.
      units: {stage: ulps} that the caller allows under "auto" beyond the base tolerance.
    """

    mode: str = "free"
    tolerance_name: str = "exact"
    units: Mapping[str, float] = dataclasses.field(default_factory=dict)

    @property
    def is_locked(self) -> bool:
        """Whether each of the right one's steps starts from the left one's state."""
        return self.mode == "locked"


IDENTICAL_BITS = Criterion()


@dataclasses.dataclass(frozen=True)
class Companions:
    """Programs beside the two that are compared, which take each of their steps from the left one's state.

    Attributes:
      lockstep: in free mode, a second program like the right one that is judged step by step; or None.
      references: both sides in float64, where the mathematics is judged, and the left one again; or None.
      alternatives: in locked mode, programs that take the right one's steps in other orders of reads and updates, where
        the old program has races: a variable that one of them explains is no difference.
    """

    lockstep: Program | None = None
    references: References | None = None
    alternatives: Sequence[Program] = ()


ALONE = Companions()


def _never() -> bool:
    return False


@dataclasses.dataclass(frozen=True)
class Observers:
    """Objects that look at the steps of a comparison, and functions that it calls on the way.

    Attributes:
      tour: looks at every step, and names the states that both sides take one more step from after the others; or None.
      rules: judges each step that both sides took from the same state by what each side recorded; or None.
      history: keeps the run's losses and the difference of each tensor; or None.
      progress: called with (steps done, `Verification` so far) after each step; or None.
      stop: called after each step; true ends the comparison with the steps so far, which is then partial.
      at_end: called after the last step, before any visit, with the left side's state and the right side's; the left
        side's twice where each step starts from its state. Or None.
    """

    tour: Tour | None = None
    rules: StepCheck | None = None
    history: History | None = None
    progress: Callable[[int, Verification], None] | None = None
    stop: Callable[[], bool] = _never
    at_end: Callable[[State, State], None] | None = None


UNOBSERVED = Observers()
