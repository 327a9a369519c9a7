"""`Cause`, its `Finding` and its `Fault`s: the elements of the catalogue."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from parity.causes.basics.confirmation import Confirmation, remaining_json

if TYPE_CHECKING:
    from parity.causes.basics.injection import Change
    from parity.comparison.setup import Setup
    from workloads.program import Program
    from workloads.workload import Workload

HIGH, MEDIUM, LOW = "high", "medium", "low"


@dataclasses.dataclass(frozen=True)
class Finding:
    """The result of a criterion that recognized its cause.

    Attributes:
      sentence: the difference, with the fitted numbers.
      confidence: HIGH (a clean fit that no other cause in the catalogue produces), MEDIUM (a clean fit that another
        cause could produce too), LOW (the signature looks like this cause).
      because: the fit, its residual, and the alternatives that were ruled out.
      constants: {name: fitted number, word, or tuple of them}, from which the cause can be injected (`Cause.change`):
        {"epsilon": 1e-7}.
      variables: the variables to which the cause is confined; empty if it acts on all that it can act on.
      steps: the steps in which the cause was seen if it was absent in others; empty if it acts in every step.
      ambiguous: another cause gives the same numbers, as `because` says: injecting it cannot tell which of them it is.
      confined: the cause is fitted in `variables` and `steps` only, and as injected it would act in all of them.
    """

    sentence: str
    confidence: str
    because: str
    constants: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    variables: tuple[str, ...] = ()
    steps: tuple[int, ...] = ()
    ambiguous: bool = False
    confined: bool = False


def _unchanged(workload: Workload) -> Workload:
    return workload


def _always(replicas: int) -> bool:
    return True


@dataclasses.dataclass(frozen=True)
class Fault:
    """A way to inject a cause: one change in one place of one side.

    Attributes:
      name: the name in reports and in `parity.faults --only`.
      inject: function from a `Setup` (and optionally the `State` to start from) to the faulty side's `Program`.
      adapt: function from a workload to the workload that the fault is injected into: itself, or a copy with other
        fields; None where the fault cannot occur. The copy is told the number of replicas (`Workload.for_replicas`).
      side: the faulty side, "modern" or "legacy".
      start: number of steps that legacy trains before the comparison starts.
      occurs_at: function from a number of replicas to whether the fault can occur there.
      also: ids of other causes that are correct names for it too.
    """

    name: str
    inject: Callable[..., Program]
    adapt: Callable[[Workload], Workload | None] = _unchanged
    side: str = "modern"
    start: int = 0
    occurs_at: Callable[[int], bool] = _always
    also: tuple[str, ...] = ()

    def adapted_workload(self, workload: Workload, replicas: int) -> Workload | None:
        """Returns the workload that the fault is injected into at so many replicas; None if it cannot occur there."""
        adapted = self.adapt(workload) if self.occurs_at(replicas) else None
        return None if adapted is None else adapted.for_replicas(replicas)


@dataclasses.dataclass(frozen=True)
class Cause:
    """An entry of the catalogue: a reason why a port does not train as its towers did.

    Attributes:
      id: stable identifier, LIKE_THIS; also the heading in docs/causes.md.
      stage: the stage of `stages.STAGES` at which it appears first.
      title: the cause in a few words.
      signature: its effect in numbers. N is the number of replicas, b and B the per-replica and global batch.
      why: the usual reason in ported programs.
      fix: the remedy.
      criterion: function from the measurements (`Evidence`; `Pace` for causes of speed) to a `Finding`, or None if
        they do not show this cause.
      faults: changes of a program that inject the cause, to prove that the criterion recognizes it.
      change: function from a `Finding` and the `Setup` to the `Change` of a clean port that injects the cause with the
        finding's constants, variables and steps; it returns None if they do not determine the change. None for a cause
        that cannot be injected.
      pitfall: pitfall number, R01 to R38, or "" if it has none.
      bug: False where both sides compute the same in different terms.
      last: True if the criterion is evaluated only when no other cause is recognized, or none of the passes while
        something there is unexplained.
      covers: stages whose deviations it explains; empty for those that a cause of its stage usually does, see
        `unexplained.COVERED`.
      by_variable: True if the cause may act on some variables and not on others, so that its criterion is also asked
        about those that deviate.
      remembers: True if its effect in a step depends on the steps before, so that a port into which it is injected must
        take the user's steps in a row.
      by_step: False if the criterion itself looks at the pattern of the steps, and must see all of them.
    """

    id: str
    stage: str
    title: str
    signature: str
    why: str
    fix: str
    criterion: Callable[[Any], Finding | None]
    faults: tuple[Fault, ...] = ()
    pitfall: str = ""
    bug: bool = True
    last: bool = False
    by_variable: bool = False
    by_step: bool = True
    change: Callable[[Finding, Setup], Change | None] | None = None
    covers: tuple[str, ...] = ()
    remembers: bool = False


@dataclasses.dataclass(frozen=True)
class RecognizedCause:
    """A `Cause` together with the `Finding` of its criterion.

    Attributes:
      cause: the catalogue's entry.
      finding: the fitted numbers and the confidence.
      confirmation: what injecting the cause into a clean port showed; None where it was not injected.
    """

    cause: Cause
    finding: Finding
    confirmation: Confirmation | None = None

    @property
    def id(self) -> str:
        """The cause's identifier."""
        return self.cause.id

    def to_json(self) -> dict[str, object]:
        """Returns the entry of the JSON report."""
        return {
            "cause": self.cause.id,
            "stage": self.cause.stage,
            "sentence": self.finding.sentence,
            "fix": self.cause.fix,
            "confidence": self.finding.confidence,
            "because": self.finding.because,
            "constants": dict(self.finding.constants),
            "variables": list(self.finding.variables),
            "steps": list(self.finding.steps),
            "confirmed": None if self.confirmation is None else self.confirmation.confirmed,
            "remaining": [] if self.confirmation is None else remaining_json(self.confirmation.remaining),
            "bug": self.cause.bug,
            "page": "docs/causes.md#" + self.cause.id.lower(),
        }
