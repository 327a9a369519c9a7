"""Cause: weights that the port's recording does not hold keep their first values, as those of a frozen layer do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parity.causes.basics.cause import MEDIUM, Cause, Finding
from parity.comparison import stages
from parity.comparison.fits import flatten_arrays, relative_norm
from workloads.support.wording import counted, plural

if TYPE_CHECKING:
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.steps.compared_step import ComparedStep

#: Gradients agree if they differ by at most so many roundings of their length, and differ if by this many times more.
SAME_ROUNDINGS, FAR = 64, 16


def unrecorded_weights(evidence: Evidence) -> Finding | None:
    """Recognizes WEIGHTS_LEFT_OUT: the first step's gradients agree, and those after weights moved on the left do not.

    The weights that both recordings hold are equal in all these steps, so that others must differ.
    """
    names = [name for name in evidence.left.weights if name not in evidence.right.weights]
    steps = [step for step in evidence.steps if step.same_state and step.left.gradients and step.right.gradients]
    if not names or len(steps) < 2 or steps[0].left.step != evidence.left.step:
        return None
    agree, noise = _gap(steps[0]), SAME_ROUNDINGS * evidence.eps
    apart = [step.left.step for step in steps[1:] if _gap(step) > FAR * noise]
    moved = [name for name in names if (evidence.left.weights[name] != steps[0].left.state.weights[name]).any()]
    if not agree <= noise or len(apart) < len(steps) - 1 or not moved:
        return None
    return Finding(
        f"{plural(len(moved), 'A weight', 'Weights')} that the port's recording does not hold "
        f"({', '.join(moved[:4])}) {plural(len(moved), 'keeps its first value', 'keep their first values')} there: "
        "a layer is frozen, or the optimizer does not get it. Its penalty leaves the loss with it.",
        MEDIUM,
        f"from the first weights the other gradients agree to {agree:.1e} of their length, and in "
        f"{counted(len(apart), 'step')} after it, before which legacy has moved these weights, they do not",
        variables=tuple(moved),
    )


def _gap(step: ComparedStep) -> float:
    """Largest relative difference of a replica's gradients, in the weights that both sides have, without penalties."""
    gaps = []
    for left, right in zip(step.left.gradients, step.right.gradients):
        names = sorted(name for name in set(left) & set(right) if left[name].shape == right[name].shape)
        first, second = flatten_arrays(left, names), flatten_arrays(right, names)
        gaps.append(relative_norm(second - first, first))
    return max(gaps, default=float("inf"))


CAUSES = (
    Cause(
        id="WEIGHTS_LEFT_OUT",
        stage=stages.GRADIENTS,
        covers=(stages.LOSS, stages.GRADIENTS, stages.COMBINED),
        title="weights that are not recorded are not trained",
        signature="The recording lacks weights; the others' gradients agree in the first step, and differ as soon as "
        "legacy has moved those",
        why="A layer with trainable=False (requires_grad=False), or parameters that are missing from the optimizer's "
        "list.",
        fix="Train every layer that legacy trains, and record it.",
        criterion=unrecorded_weights,
    ),
)
