"""`Confirmation`: the result of injecting causes into a clean port and comparing it with the run to explain."""

from __future__ import annotations

from typing import Any, NamedTuple

from workloads.support.wording import counted


class Remainder(NamedTuple):
    """A tensor in which an injected port and the user's run still differ.

    Attributes:
      stage: one of `stages.STAGES`.
      variable: the tensor's name within the stage.
      step: number of the first step in which it differs.
      roundings: the largest difference of any step, in roundings of that tensor's own operations.
    """

    stage: str
    variable: str
    step: int
    roundings: float

    def __str__(self) -> str:
        return f"{self.stage} ({self.variable}) by {self.roundings:.3g} roundings, first at step {self.step}"


class Confirmation(NamedTuple):
    """The result of one injection.

    Attributes:
      steps: number of the user's steps that the injected port took from the user's own states.
      stages: stages that were compared, in causal order.
      roundings: largest difference of a tensor that agrees, in roundings.
      remaining: tensors that still differ; empty if every stage agrees to rounding.
      injected: ids of the causes that were injected together.
    """

    steps: int
    stages: tuple[str, ...]
    roundings: float
    remaining: tuple[Remainder, ...]
    injected: tuple[str, ...] = ()

    @property
    def confirmed(self) -> bool:
        """Whether every stage agrees to rounding."""
        return not self.remaining

    def sentence(self, cause: str) -> str:
        """Returns the result in words for the report of one of the injected causes, given its id."""
        others = [name for name in self.injected if name != cause]
        how = "injected into the clean port" + (f" together with {', '.join(others)}" if others else "")
        if self.confirmed:
            return f"{how}, every stage of {counted(self.steps, 'step')} agrees to {self.roundings:.1f} roundings"
        return f"{how}, it leaves {describe_remaining(self.remaining)}"


def describe_remaining(remaining: tuple[Remainder, ...], most: int = 3) -> str:
    """Returns the worst tensor of each stage that remains, in words; of more than `most` stages the first ones."""
    worst: dict[str, Remainder] = {}
    for entry in remaining:
        if entry.stage not in worst or entry.roundings > worst[entry.stage].roundings:
            worst[entry.stage] = entry
    listed = "; ".join(str(entry) for entry in list(worst.values())[:most])
    return listed + (f"; and {len(worst) - most} more stages" if len(worst) > most else "")


def remaining_json(remaining: tuple[Remainder, ...]) -> list[dict[str, Any]]:
    """Returns the tensors that still differ, for `--json`."""
    return [entry._asdict() for entry in remaining]
