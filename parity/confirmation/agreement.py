"""Agreement of an injected port with the user's records: each tensor of each stage, in roundings of its own operations.

An injected port computes the user's mathematics with kernels and orders of addition of its own, so rounding is all that
may be left. It is counted per tensor, in units of what its own few operations round: see `rounding_units`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from parity.causes.basics.confirmation import Remainder
from parity.comparison import stages
from parity.comparison.floats import relative
from parity.confirmation.injected_port import UserStep
from parity.confirmation.rounding_units import Rules, magnitude, units_of_tensor
from workloads.program import State, StepRecord

#: {stage: roundings that a tensor may be off by}. Losses and gradients are sums over a batch, through all layers, in
#: another order; all other stages are a few elementwise operations on inputs that are given.
MOST_ROUNDINGS = {
    stages.INITIAL: 4.0,
    stages.BATCH: 0.0,
    stages.LOSS: 32.0,
    stages.GRADIENTS: 64.0,
    stages.COMBINED: 16.0,
    stages.RATE: 8.0,
    stages.WEIGHTS: 3.0,
    stages.SLOTS: 8.0,
    stages.STATISTICS: 64.0,
    stages.AVERAGES: 2.0,
}

#: Stages that kernels compute, whose rounding is measured by the same port in float64; all others if the user's record
#: does not show their inputs.
MEASURED = (stages.LOSS, stages.GRADIENTS, stages.STATISTICS)

#: Bound of the distance of two float32 runs, as a multiple of the distance of one of them from float64.
NOISE_FACTOR = 8.0

#: A stage that is off by more than this part of its length is off by more than rounding.
MOST_NOISE = 1e-2

#: An injected cause explains something if a stage's gap becomes so many times smaller.
SHRINKS = 10.0


class Lengths(NamedTuple):
    """Squared norms of a difference, and of the tensor that it is relative to."""

    gap: float
    whole: float


class TensorDifference(NamedTuple):
    """The largest difference of a tensor in roundings, infinite where only one side is finite, and its lengths."""

    roundings: float
    squares: Lengths


@dataclasses.dataclass
class Agreement:
    """The comparison of an injected port with the user's run.

    Attributes:
      steps: number of steps.
      stages: stages that were compared.
      roundings: largest difference of a tensor that agrees.
      remaining: {(stage, variable): the tensor's remainder}.
      squares: {(stage, step): squared lengths of the difference and of the user's tensors}, over all tensors.
    """

    steps: int = 0
    stages: set[str] = dataclasses.field(default_factory=set)
    roundings: float = 0.0
    remaining: dict[tuple[str, str], Remainder] = dataclasses.field(default_factory=dict)
    squares: dict[tuple[str, int], Lengths] = dataclasses.field(default_factory=dict)

    @property
    def gaps(self) -> dict[str, float]:
        """{stage: largest relative length of the difference in one step} of the stages that do not agree."""
        found: dict[str, float] = {}
        for (stage, _), (gap, whole) in self.squares.items():
            if any(stage == other for other, _ in self.remaining):
                found[stage] = max(found.get(stage, 0.0), relative(float(np.sqrt(gap)), float(np.sqrt(whole))))
        return found

    def add(self, stage: str, name: str, step: int, difference: TensorDifference) -> None:
        """Adds one tensor of one step.

        Args:
          stage: the tensor's stage.
          name: its name within the stage.
          step: number of the step.
          difference: of the injected port's tensor from the user's.
        """
        roundings = difference.roundings
        self.stages.add(stage)
        gap, whole = self.squares.get((stage, step), Lengths(0.0, 0.0))
        self.squares[stage, step] = Lengths(gap + difference.squares.gap, whole + difference.squares.whole)
        if roundings <= MOST_ROUNDINGS[stage]:
            self.roundings = max(self.roundings, roundings)
            return
        known = self.remaining.get((stage, name))
        first, worst = (step, roundings) if known is None else (known.step, max(known.roundings, roundings))
        self.remaining[stage, name] = Remainder(stage, name, first, worst)

    def in_order(self) -> tuple[Remainder, ...]:
        """Returns the remaining differences in causal order of the stages, the worst tensor of each stage first."""
        return tuple(
            sorted(self.remaining.values(), key=lambda entry: (stages.STAGES.index(entry.stage), -entry.roundings))
        )


#: Tensors that are compared for equality and are not equal, or of which only one is finite.
UNLIKE = TensorDifference(float("inf"), Lengths(1.0, 1.0))


def may_be_noise(agreement: Agreement) -> bool:
    """Tells whether float64 may show that the rest is rounding of kernels: it is only a small part of its stage."""
    return bool(agreement.remaining) and all(gap <= MOST_NOISE for gap in agreement.gaps.values())


def add_initial(agreement: Agreement, injected: State, user: State, given: set[str]) -> None:
    """Compares the first states.

    Args:
      agreement: the comparison to add to.
      injected: first state of the injected port.
      user: first state of the user's run.
      given: variables whose first values the cause takes from the user's run.
    """
    theirs = stages.state_tensors(user)
    for (stage, name), mine in stages.state_tensors(injected).items():
        other = theirs.get((stage, name))
        if other is not None and name not in given:
            label = stages.initial_name(stage, name)
            agreement.add(stages.INITIAL, label, 0, _difference(mine, other, magnitude(other)))


def add_step(
    agreement: Agreement, injected: StepRecord, user: UserStep, rules: Rules, twin: StepRecord | None = None
) -> None:
    """Compares one step.

    Args:
      agreement: the comparison to add to.
      injected: the injected port's record, taken from the user's state with the user's inputs to each stage.
      user: the user's step.
      rules: facts about the job.
      twin: the injected port's step in float64, from which rounding is measured; None to count it only.
    """
    agreement.steps += 1
    theirs = {(stage, name): array for stage, name, array in stages.tensors(user.record)}
    exact = {} if twin is None else {(stage, name): array for stage, name, array in stages.tensors(twin)}
    measured = _measured_stages(user.record)
    for stage, name, mine in stages.tensors(injected):
        other = theirs.get((stage, name))
        if other is None or np.shape(other) != np.shape(mine):
            continue
        noise = _noise(mine, exact.get((stage, name))) if stage in measured else 0.0
        units = units_of_tensor(stage, name, mine, other, user, rules)
        agreement.add(stage, name, injected.step, _difference(mine, other, units, noise))
    for name in sorted(set(injected.drift) ^ set(user.record.drift)):
        agreement.add(stages.STATISTICS, f"copies of {name}", injected.step, UNLIKE)


def _measured_stages(user: StepRecord) -> Sequence[str]:
    """Stages with rounding errors that depend on those of earlier kernels."""
    if not user.combined:
        return stages.STAGES
    return MEASURED if user.gradients else (*MEASURED, stages.COMBINED)


def _difference(mine: np.ndarray, other: np.ndarray, units: np.ndarray, noise: float = 0.0) -> TensorDifference:
    """Returns a tensor's difference.

    Args:
      mine, other: the injected port's tensor and the user's.
      units: magnitude whose rounding is one unit, for each element.
      noise: difference of each element that is not counted.
    """
    mine, other = np.asarray(mine), np.asarray(other)
    if mine.dtype.kind != "f" or other.dtype.kind != "f":
        return TensorDifference(0.0, Lengths(0.0, 1.0)) if np.array_equal(mine, other) else UNLIKE
    eps = max(float(np.finfo(array.dtype).eps) for array in (mine, other))
    a, b = np.asarray(mine, np.float64), np.asarray(other, np.float64)
    if not np.array_equal(np.isfinite(a), np.isfinite(b)) or not np.array_equal(np.isnan(a), np.isnan(b)):
        return UNLIKE
    finite = np.isfinite(a)
    a, b, size = a[finite], b[finite], np.broadcast_to(units, finite.shape)[finite]
    gap = np.maximum(np.abs(a - b) - noise, 0.0)
    unit = eps * size + np.finfo(np.float64).tiny
    roundings = float(np.max(gap / unit, initial=0.0))
    return TensorDifference(roundings, Lengths(float(np.sum((a - b) ** 2)), float(np.sum(b**2))))


def _noise(mine: np.ndarray, twin: np.ndarray | None) -> float:
    """Largest difference between the port's tensor and the same in float64, times `NOISE_FACTOR`; 0 if not measured."""
    if twin is None or np.asarray(mine).dtype.kind != "f":
        return 0.0
    gap = np.abs(np.asarray(mine, np.float64) - np.asarray(twin, np.float64))
    return NOISE_FACTOR * float(np.max(gap[np.isfinite(gap)], initial=0.0))


def improves(new: Mapping[str, float], old: Mapping[str, float]) -> bool:
    """Tells whether an injected cause explains something.

    Args:
      new: `Agreement.gaps` with the cause injected.
      old: those without it.

    Returns:
      true if a stage's gap becomes at least `SHRINKS` times smaller or vanishes, and no stage's grows by as much.
    """
    shrinks = any(np.isfinite(new.get(stage, 0.0)) and new.get(stage, 0.0) * SHRINKS <= old[stage] for stage in old)
    grows = any(not np.isfinite(new[stage]) or new[stage] > SHRINKS * old.get(stage, 0.0) for stage in new)
    return shrinks and not grows
