"""`Mutant`: a job with one choice changed, and the tensors that differ by it; `MutantOutcome`: was it detected?"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from parity.coverage.observed_step import ObservedStep


class Choice(enum.Enum):
    """Kind of choice that a mutant changes; the value is its name in reports."""

    INPUT = "input"
    DECAY = "decay"
    COMBINE = "combine"
    CLIP = "clip"
    STALENESS = "staleness"
    SCHEDULE = "schedule"
    OPTIMIZER = "optimizer"
    UPDATE = "update"
    STATISTICS = "statistics"
    MOVING_AVERAGE = "moving_average"
    CONSTANT = "constant"


class Exposure(enum.Enum):
    """Kind of state from which a step shows a mutant that an ordinary step may hide."""

    SMALL_SLOTS = enum.auto()
    LARGE_GRADIENTS = enum.auto()
    SMALL_GRADIENTS = enum.auto()
    RANDOM_WEIGHTS = enum.auto()


class Effect(NamedTuple):
    """One tensor of a step record, as the job makes it and as a mutant would; see `stages` for the stage."""

    stage: str
    name: str
    expected: np.ndarray
    mutated: np.ndarray


#: A function from a compared step to the tensors that a mutant changes first, each computed from the step's own inputs.
Effects = Callable[[ObservedStep], Iterable[Effect]]


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A job with one choice changed.

    Attributes:
      choice: the kind of choice.
      name: the choice: "optimizer.beta1", "update of conv1/weights".
      change: the change: "0.9 -> 0.909".
      effects: the first tensors of a step that differ by it.
      hidden: the reason, and what would exercise the choice, where no compared step shows it; a function, since it may
        depend on what was compared.
      harmless: returns the reason why no run can show the mutant (an equivalent mutant), or "" for one that can
        matter; asked only where no compared step shows it.
      every_step: whether it is cheap enough to be tried in every compared step.
      exposure: the kind of state that shows it; None where the job's own steps do.
      first: the first step that it changes; None where that is not known.
      still: the weight that it leaves where it is; "" for other mutants.
    """

    choice: Choice
    name: str
    change: str
    effects: Effects
    hidden: Callable[[], str] = lambda: "no compared step shows it"
    harmless: Callable[[], str] = lambda: ""
    every_step: bool = False
    exposure: Exposure | None = None
    first: int | None = None
    still: str = ""


#: The reason why a mutant was not seen that does change what was compared.
WITHIN_TOLERANCE = "what it changes is within this comparison's tolerance; one in float64 would show it"


@dataclasses.dataclass
class MutantOutcome:
    """The result of trying a mutant.

    Attributes:
      mutant: the `Mutant`.
      seen: whether the comparison would have failed.
      place: the first step, or visit, that shows it; "" if none does.
      stage: the first stage that shows it; "" if none does.
      error: the reason why the mutant could not be tried, or "".
      within: whether a compared step shows it by more than float64's rounding, and by no more than the tolerance.
      unrecorded: what the mutant changes, or is computed from, that the compared records do not hold; "" for nothing.
    """

    mutant: Mutant
    seen: bool = False
    place: str = ""
    stage: str = ""
    error: str = ""
    within: bool = False
    unrecorded: str = ""

    @property
    def harmless(self) -> str:
        """The reason why no run can show the mutant, or ""; also "" where it was seen.

        It may depend on what was compared so far: a gradient is taken for zero after enough states of random weights.
        """
        return "" if self.seen else self.mutant.harmless()

    @property
    def is_missing(self) -> bool:
        """Whether the mutant can matter and was not seen."""
        return not self.seen and not self.harmless

    @property
    def why(self) -> str:
        """The stage that shows the mutant, or the reason why none does."""
        if self.seen:
            return f"{self.stage} differ" if self.stage.endswith("s") else f"{self.stage} differs"
        if self.unrecorded and not self.harmless:
            return f"the recording does not hold the {self.unrecorded}"
        return self.harmless or self.error or (WITHIN_TOLERANCE if self.within else self.mutant.hidden())

    def to_json(self) -> dict[str, Any]:
        """Returns the outcome for the report."""
        return {
            "name": self.mutant.name,
            "choice": self.mutant.choice.value,
            "change": self.mutant.change,
            "seen": self.seen,
            "matters": not self.harmless,
            "why": self.why,
            "step": self.place,
        }
