"""First difference of two runs: the stage, in causal order, in which any bit differs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parity.comparison import stages
from parity.comparison.difference import compare

if TYPE_CHECKING:
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.steps.compared_step import ComparedStep


def first_differing_stage(evidence: Evidence) -> str | None:
    """Returns the first stage, in causal order of the first step, in which any bit differs; None if none does.

    Tensors that only one side shows are not compared.
    """
    left, right = (
        {(stage, name): array for stage, name, array in stages.initial_tensors(state)}
        for state in (evidence.left, evidence.right)
    )
    if any(_differ(key[1], array, right[key]) for key, array in left.items() if key in right):
        return stages.INITIAL
    found = (_first_differing_stage_of_step(step) for step in evidence.steps)
    return next((stage for stage in found if stage is not None), None)


def _first_differing_stage_of_step(step: ComparedStep) -> str | None:
    right = {(stage, name): array for stage, name, array in stages.tensors(step.right)}
    for stage, name, array in stages.tensors(step.left):
        other = right.get((stage, name))
        if other is not None and _differ(name, array, other):
            return stage
    return stages.STATISTICS if step.right.drift else None


def _differ(name: str, left: np.ndarray, right: np.ndarray) -> bool:
    return left.shape != right.shape or not compare(name, left, right).identical
