"""Moving averages of the weights: the share of the weights that each side's averages take in a step."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from parity.comparison.fits import FactorFit, fit_factor, flatten_arrays
from parity.diagnosis.steps.compared_step import ComparedStep
from workloads.program import State, StepRecord


@dataclasses.dataclass(frozen=True)
class AverageMove:
    """One step of one side's averages: `average after - before ~ share * (weight - average before)`.

    Attributes:
      step: number of the step.
      new, old: fit with the weight after, and before the update; the factor is the share, 1 - decay.
      moved: whether any average changed at all.
      noise: rounding relative to the change: a residual below this says nothing; infinite without a change.
    """

    step: int
    new: FactorFit
    old: FactorFit
    moved: bool
    noise: float


def measure_moving_averages(steps: Sequence[ComparedStep]) -> tuple[list[AverageMove], list[AverageMove]]:
    """Returns (left's moves, right's moves) of the steps in which a side has averages."""
    return (
        _side_moves([(step.left, step.left_before) for step in steps]),
        _side_moves([(step.right, step.right_before) for step in steps]),
    )


def _side_moves(rows: Sequence[tuple[StepRecord, State]]) -> list[AverageMove]:
    named = [(record, before, _averaged_weights(record, before)) for record, before in rows]
    return [_fit_move(record, before, names) for record, before, names in named if names]


def _averaged_weights(record: StepRecord, before: State) -> list[str]:
    """Weights that have an average before and after the step."""
    return sorted(set(record.state.averages) & set(before.averages) & set(before.weights))


def _fit_move(record: StepRecord, before: State, names: Sequence[str]) -> AverageMove:
    old, new = flatten_arrays(before.averages, names), flatten_arrays(record.state.averages, names)
    change = new - old
    eps = max(np.finfo(np.asarray(before.averages[name]).dtype).eps for name in names)
    length = float(np.linalg.norm(change))
    return AverageMove(
        step=record.step,
        new=fit_factor(flatten_arrays(record.state.weights, names) - old, change),
        old=fit_factor(flatten_arrays(before.weights, names) - old, change),
        moved=bool(np.any(change)),
        noise=float(eps * np.linalg.norm(old)) / length if length else float("inf"),
    )
