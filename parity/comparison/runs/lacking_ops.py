"""Sentence on a variable that the original's step updated differently from the old graph here, from equal gradients."""

from __future__ import annotations

from parity.comparison import stages
from parity.comparison.result import Verification
from workloads.lifted.plan import Plan

#: Said where the old graph here computes another loss or gradient than the original.
DIFFERENT_KERNELS = "this TensorFlow runs it differently"

_WITH = "legacy.lift --with names an op that the program ran besides"


def cause_of_difference(original: Verification, plan: Plan) -> str:
    """Returns why the original differs from the old graph here, as far as the first difference shows it.

    Kernels of another TensorFlow show in losses and gradients. Where these agree, and a variable does not that both
    sides took from one state, the original may have run an op that the lift lacks.

    Args:
      original: the comparison of the original with the old graph here.
      plan: of the lift.
    """
    first = original.first
    if first is None or first.stage not in stages.OF_STATE or not _agree_before(original):
        return DIFFERENT_KERNELS
    name = first.difference.name
    changed = {written for phase in plan.phases for effect in phase.effects for written in effect.writes}
    if name not in changed:
        return f"no op of the lift changes {name}, and the original's step did: {_WITH}"
    return (
        f"gradients agree, and {name} does not: the original's step ran another op that changes it ({_WITH}), or "
        f"{DIFFERENT_KERNELS}"
    )


def _agree_before(original: Verification) -> bool:
    """Whether losses and gradients were compared, and agree."""
    before = [original.stages[stage] for stage in (stages.LOSS, stages.GRADIENTS) if stage in original.stages]
    return any(summary.tensors for summary in before) and all(summary.failed is None for summary in before)
