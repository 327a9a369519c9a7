"""The cause of updates that count gradients several times, of a step whose combined gradients nobody records.

A port whose whole step is its own all-reduces gradients in the middle of it. Where it sums what legacy averages, its
replicas' gradients agree, and no rule is known that would give the combined gradient back. Only what the update makes
of it shows the factor: the weights' change of plain descent, and slots that take gradients, or their squares, up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parity.causes.basics.cause import MEDIUM, Cause, Finding
from parity.causes.basics.wording import format_factor
from parity.comparison import stages
from parity.comparison.fits import FactorFit, fit_factor, near
from workloads.support.wording import counted, listed

if TYPE_CHECKING:
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.steps.compared_step import ComparedStep
    from workloads.program import Arrays

#: A change is a factor times legacy's if so much of it is left over, beside the rounding of the values that change.
MOST_RESIDUAL = 1e-4
#: Roundings of a value, relative to which a small change of it is known.
ROUNDINGS = 4.0
#: Adam's first change of a weight is of one length for all gradients, but for an epsilon: within this part.
SAME_LENGTH = 0.05
#: Stages in which nothing may differ: what the update takes.
BEFORE = (stages.INITIAL, stages.BATCH, stages.LOSS, stages.GRADIENTS, stages.COMBINED, stages.RATE)


class _Change(NamedTuple):
    """The change of one weight or slot in a step.

    Attributes:
      name: of the weight or slot.
      is_slot: whether it is a slot.
      is_scalar: whether it is one number, as the power of a decay is.
      fit: the port's change by legacy's.
      allowed: relative error of the fit that rounding makes.
    """

    name: str
    is_slot: bool
    is_scalar: bool
    fit: FactorFit
    allowed: float

    def is_times(self, factor: float) -> bool:
        """Whether the port's change is a factor times legacy's; of a slot also its square, as of squared gradients."""
        factors = (factor, factor * factor) if self.is_slot else (factor,)
        is_clean = self.fit.residual <= self.allowed
        return is_clean and any(near(self.fit.factor, one, 2 * self.allowed) for one in factors)

    def is_unmoved(self) -> bool:
        """Whether a factor of the gradients does not change it: the power of a decay, or a weight in Adam's update."""
        part = MOST_RESIDUAL if self.is_slot else SAME_LENGTH
        can_be = self.is_scalar or not self.is_slot
        return can_be and self.fit.residual <= part and near(self.fit.factor, 1.0, part)


def counted_in_update(evidence: Evidence) -> Finding | None:
    """Recognizes COUNTED_IN_UPDATE: what the update changes is explained by a multiple of the same gradients."""
    if evidence.both_updates is not None or not evidence.learning_rates.equal:
        return None
    steps = [step for step in evidence.steps if _starts_alike(step)]
    if not steps or any(step.left.combined and step.right.combined for step in steps):
        return None
    if any(deviation.stage in BEFORE for deviation in evidence.deviations.found):
        return None
    changes = [list(_changes(step, evidence.eps)) for step in steps]
    n = float(evidence.replicas)
    fitted = [factor for change in changes[0] for factor in (change.fit.factor, abs(change.fit.factor) ** 0.5)]
    for factor in (n, 1.0 / n, *sorted(fitted, key=lambda one: abs(one - 1.0))):
        shown = {change.name for own in changes for change in own if change.is_times(factor)}
        others = [change for own in changes for change in own if not change.is_times(factor)]
        if shown and not near(factor, 1.0, MOST_RESIDUAL) and _are_beside_slots(others, changes):
            return _finding(factor, sorted(shown), len(steps), evidence)
    return None


def _are_beside_slots(others: Sequence[_Change], changes: Sequence[Sequence[_Change]]) -> bool:
    """Whether the changes without the factor are what a rule with slots leaves alone."""
    has_slots = any(change.is_slot for own in changes for change in own)
    return not others or has_slots and all(change.is_unmoved() for change in others)


def _finding(factor: float, names: list[str], steps: int, evidence: Evidence) -> Finding:
    """Returns the finding of one factor.

    Args:
      factor: of the gradients.
      names: of weights and slots whose change has the factor, or its square.
      steps: number of steps that show it.
      evidence: of both programs' steps.
    """
    n, meaning = evidence.replicas, "a factor in the loss, or in the all-reduce"
    if near(factor, n, MOST_RESIDUAL) and n > 1:
        meaning = "it sums the replicas' gradients where legacy averages its towers'"
    elif near(factor, 1 / n, MOST_RESIDUAL) and n > 1:
        meaning = "it averages the replicas' gradients where legacy sums its towers'"
    is_rate_known = bool(evidence.learning_rates.steps)
    other = "" if is_rate_known else "; a learning rate with this factor would change weights alike"
    return Finding(
        f"The port's update counts every gradient {format_factor(factor)} x as legacy's does: {meaning}.",
        MEDIUM,
        f"the replicas' own gradients agree, and {listed(names, 4)} change by that factor or its square in "
        f"{counted(steps, 'step')} from equal states{other}",
        ambiguous=not is_rate_known,
    )


def _starts_alike(step: ComparedStep) -> bool:
    """Whether both sides took a step from the same weights, and from slots that are the same and hold no gradients."""
    left, right = step.left_before.slots, step.right_before.slots
    same = all(name in right and np.array_equal(left[name], right[name]) for name in left)
    return step.same_state and same and not any(np.any(value) for value in left.values() if np.ndim(value))


def _changes(step: ComparedStep, eps: float) -> Iterator[_Change]:
    """Yields the changes of the weights and slots that legacy changes."""
    sides: tuple[tuple[bool, Arrays, Arrays, Arrays], ...] = (
        (False, step.left_before.weights, step.left.state.weights, step.right.state.weights),
        (True, step.left_before.slots, step.left.state.slots, step.right.state.slots),
    )
    for is_slot, before, left, right in sides:
        for name in sorted(before.keys() & left.keys() & right.keys()):
            old, first, second = (np.asarray(one[name], np.float64).ravel() for one in (before, left, right))
            if old.shape == first.shape == second.shape and np.any(first != old):
                rounding = ROUNDINGS * eps * float(np.linalg.norm(old)) / float(np.linalg.norm(first - old))
                is_scalar = np.ndim(before[name]) == 0
                yield _Change(name, is_slot, is_scalar, fit_factor(first - old, second - old), MOST_RESIDUAL + rounding)


CAUSES = (
    Cause(
        id="COUNTED_IN_UPDATE",
        stage=stages.WEIGHTS,
        covers=(stages.WEIGHTS, stages.SLOTS),
        title="the update counts gradients several times",
        signature="The replicas' gradients agree; what a step of the port's own makes of them is what a multiple of "
        "legacy's combined gradient gives, such as N times or 1/N of it",
        why="The step all-reduces with SUM where legacy takes the towers' mean, or with MEAN where legacy adds them.",
        fix="All-reduce with ReduceOp.MEAN where the towers' gradients are averaged, with SUM where they are added.",
        criterion=counted_in_update,
    ),
)
