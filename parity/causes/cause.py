"""`Cause`, `Found` and `Fault`: what the catalogue is made of."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Optional, Tuple

HIGH, MEDIUM, LOW = "high", "medium", "low"


@dataclasses.dataclass(frozen=True)
class Found:
    """What a rule says.

    Attributes:
      sentence: what is different, with the fitted numbers.
      confidence: HIGH (a clean fit that nothing else in the catalogue makes), MEDIUM (a clean fit that something
        else could make too), LOW (it is what such a cause looks like).
      because: which fit, which residual, what was ruled out.
    """

    sentence: str
    confidence: str
    because: str


@dataclasses.dataclass(frozen=True)
class Fault:
    """A cause planted in one place of one side.

    Attributes:
      name: what is printed.
      plant: function from a `pair.Setup` to the faulty side's `Program`.
      suits: function from a workload to the workload it is planted in (itself, or with other named fields); None
        where it cannot occur. A workload with a field `replicas` is told them.
      side: the side that is faulty, "modern" or "legacy".
      start: steps that legacy trains before the comparison starts.
      replicas: function from a number of replicas to whether it can occur there.
      also: ids of other causes that name it as well.
    """

    name: str
    plant: Callable
    suits: Callable = lambda workload: workload
    side: str = "modern"
    start: int = 0
    replicas: Callable = lambda replicas: True
    also: Tuple[str, ...] = ()

    def variant(self, workload, replicas):
        """The workload that it is planted in at so many replicas, or None where it cannot occur."""
        made = self.suits(workload) if self.replicas(replicas) else None
        return dataclasses.replace(made, replicas=replicas) if hasattr(made, "replicas") else made


@dataclasses.dataclass(frozen=True)
class Cause:
    """One cause.

    Attributes:
      id: its name, LIKE_THIS.
      stage: of `stages.STAGES`, that owns it.
      title: what happened, in a line.
      signature: how it looks in numbers. N is the number of replicas, b and B the per-replica and global batch.
      why: how ports come by it.
      fix: what to do.
      find: function from `Evidence` to `Found` or None.
      faults: `Fault`s that plant it.
      rules: numbers of the rules of the project's list of pitfalls.
      bug: False where both sides do the same in other terms.
      last: asked only if no other cause is found.
    """

    id: str
    stage: str
    title: str
    signature: str
    why: str
    fix: str
    find: Callable[[Any], Optional[Found]]
    faults: Tuple[Fault, ...] = ()
    rules: str = ""
    bug: bool = True
    last: bool = False


@dataclasses.dataclass(frozen=True)
class Finding:
    """A `Cause` that was found."""

    cause: Cause
    found: Found

    @property
    def id(self):
        """The cause's."""
        return self.cause.id

    def to_json(self):
        """For reports."""
        return {
            "cause": self.cause.id,
            "stage": self.cause.stage,
            "sentence": self.found.sentence,
            "fix": self.cause.fix,
            "confidence": self.found.confidence,
            "because": self.found.because,
            "bug": self.cause.bug,
            "page": "docs/causes.md#" + self.cause.id.lower(),
        }
