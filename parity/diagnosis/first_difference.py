"""First difference of two runs: the stage, in causal order, in which any bit differs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parity.comparison import stages
from parity.comparison.difference import compare

if TYPE_CHECKING:
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.steps.compared_step import ComparedStep


def first_differing_stage(evidence: Evidence) -> str | None:
    """Returns the first stage, in causal order of the first step, in which any bit differs; None if none does.

    Tensors that only one side shows are not compared.
    """
    initial = zip(stages.initial_tensors(evidence.left), stages.initial_tensors(evidence.right))
    if any(not compare(name, a, b).identical for (_, name, a), (_, _, b) in initial):
        return stages.INITIAL
    found = (_first_differing_stage_of_step(step) for step in evidence.steps)
    return next((stage for stage in found if stage is not None), None)


def _first_differing_stage_of_step(step: ComparedStep) -> str | None:
    right = {(stage, name): array for stage, name, array in stages.tensors(step.right)}
    for stage, name, array in stages.tensors(step.left):
        other = right.get((stage, name))
        if other is not None and (other.shape != array.shape or not compare(name, array, other).identical):
            return stage
    return stages.STATISTICS if step.right.drift else None
