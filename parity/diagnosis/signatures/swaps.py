"""Swaps: variables that hold another variable's values, or their own transposed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from parity.diagnosis.evidence import Evidence, measured_once
from parity.diagnosis.signatures.stage_values import StageRow, stage_rows

#: At least so many numbers must agree: a few zeros or ones agree by chance.
LEAST_NUMBERS = 3


class Swap(NamedTuple):
    """A variable that holds other values than its own.

    Attributes:
      stage: the stage, as in `stages.STAGES`.
      name: the variable.
      source: the variable whose values it holds; itself if they are transposed.
      steps: the steps in which this was seen.
    """

    stage: str
    name: str
    source: str
    steps: tuple[int, ...]


@measured_once
def find_swaps(evidence: Evidence) -> list[Swap]:
    """Returns the variables that hold another's values in every step in which they deviate, stage by stage."""
    found: list[Swap] = []
    for stage, rows in stage_rows(evidence).items():
        found.extend(_swaps_of_stage(stage, rows, evidence.clean_residual))
    return found


def _swaps_of_stage(stage: str, rows: Sequence[StageRow], tolerance: float) -> list[Swap]:
    names = list(rows[0].expected) if rows else []
    found = []
    for name in names:
        if not all(name in row.expected for row in rows if name in row.actual):
            continue  # in a step that one side recorded without it, there is nothing that it should hold
        wrong = [row for row in rows if name in row.actual and not _agrees(row, name, name, tolerance)]
        if not wrong:
            continue
        source = next((other for other in names if _holds_other(wrong, name, other, tolerance)), None)
        if source is not None:
            found.append(Swap(stage, name, source, tuple(dict.fromkeys(row.step for row in wrong))))
    return found


def _holds_other(rows: Sequence[StageRow], name: str, other: str, tolerance: float) -> bool:
    """Whether `name` has the values of `other` in all rows, and these are enough different numbers to tell."""
    if not all(
        other in row.expected and _agrees(row, name, other, tolerance, transposed=name == other) for row in rows
    ):
        return False
    return sum(np.unique(row.expected[other]).size for row in rows) >= LEAST_NUMBERS


def _agrees(row: StageRow, name: str, other: str, tolerance: float, transposed: bool = False) -> bool:
    shape = np.shape(row.expected[other])
    if np.shape(row.actual[name]) != (shape[::-1] if transposed else shape) or (transposed and len(shape) < 2):
        return False
    actual, expected = np.asarray(row.actual[name], np.float64), np.asarray(row.expected[other], np.float64)
    if transposed:
        expected = expected.T
    gap = float(np.linalg.norm(actual - expected))
    length = float(np.linalg.norm(expected))
    noise = row.noise.get(name, 0.0)
    return gap <= tolerance * length + noise and (name == other or length > 2 * noise)
