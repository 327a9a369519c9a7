"""`Deviation`: a tensor that rounding does not explain, with the steps in which it is off and the sharpest fact."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

import numpy as np

from parity.comparison import stages
from parity.diagnosis.stage_checks.step_pattern import describe_steps
from parity.diagnosis.stage_checks.tensor_error import TensorError


@dataclasses.dataclass(frozen=True)
class Deviation:
    """A tensor of one stage that is off.

    Attributes:
      stage: as in `stages.STAGES`.
      name: of the variable, slot or replica.
      steps: numbers of the steps in which it is off.
      judged: numbers of the steps in which it was judged.
      roundings: largest error, in roundings; infinity for values that are not finite.
      fact: fitted numbers of one of the steps.
      side: the side that is off: "right", or "left" where the rule explains the right and not the left.
    """

    stage: str
    name: str
    steps: tuple[int, ...]
    judged: tuple[int, ...]
    roundings: float
    fact: str
    side: str = "right"

    @property
    def variable(self) -> str:
        """The variable's name without its slot's."""
        return self.name.rsplit("/", 1)[0] if self.stage == stages.SLOTS and "/" in self.name else self.name

    @property
    def sentence(self) -> str:
        """Where and when it is off, by how much, and the fitted numbers."""
        size = f"{self.roundings:.3g} roundings" if np.isfinite(self.roundings) else "not finite"
        owner = "legacy's own " if self.side == "left" else ""
        fact = f": {self.fact}" if self.fact else ""
        return f"{self.stage}, {owner}{self.name} {describe_steps(self.steps, self.judged)}, {size}{fact}"

    def to_json(self) -> dict[str, object]:
        """Returns the entry of the JSON report; an infinite size is None."""
        return {
            "stage": self.stage,
            "variable": self.name,
            "side": self.side,
            "steps": list(self.steps),
            "judged": list(self.judged),
            "when": describe_steps(self.steps, self.judged),
            "roundings": self.roundings if np.isfinite(self.roundings) else None,
            "fact": self.fact,
        }


def group_errors(errors: Iterable[TensorError]) -> dict[tuple[str, str], list[TensorError]]:
    """Returns {(stage, name): errors in the order of the steps}."""
    grouped: dict[tuple[str, str], list[TensorError]] = {}
    for error in errors:
        grouped.setdefault((error.stage, error.name), []).append(error)
    return grouped


def deviation_of(errors: Iterable[TensorError], side: str = "right") -> Deviation | None:
    """Returns the `Deviation` of one tensor's errors over the steps; None if rounding explains every step.

    Args:
      errors: of one stage and name.
      side: the side that they are of.

    Returns:
      the deviation, with the fact of the last step that is off: there slots are no longer empty.
    """
    found = list(errors)
    off = [error for error in found if error.off]
    if not off:
        return None
    return Deviation(
        stage=off[0].stage,
        name=off[0].name,
        steps=tuple(error.step for error in off),
        judged=tuple(error.step for error in found),
        roundings=max(error.roundings if not np.isnan(error.roundings) else np.inf for error in off),
        fact=off[-1].fact,
        side=side,
    )


def deviations_by_rule(
    left: Mapping[tuple[str, str], list[TensorError]], right: Mapping[tuple[str, str], list[TensorError]]
) -> tuple[list[Deviation], set[tuple[str, str]]]:
    """Judges tensors that each side's own rule was applied to.

    Args:
      left, right: {(stage, name): errors} of each side.

    Returns:
      deviations, and the tensors that the rule explains on neither side: it is not the rule that these programs have.
    """
    found, unruled = [], set()
    for key, errors in right.items():
        legacy = deviation_of(left.get(key, ()), "left")
        port = deviation_of(errors)
        if legacy is not None and port is not None:
            unruled.add(key)
        elif legacy is not None or port is not None:
            found.append(legacy or port)
    return [deviation for deviation in found if deviation is not None], unruled
