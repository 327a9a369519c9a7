"""Layer inputs: whether a matrix multiplies the same inputs on both sides, told from the columns of its gradients.

The gradient of a matrix is a sum over a replica's examples, each an input times an error, so that every column is a
combination of the examples' inputs. Where there are fewer examples than inputs and than outputs, the columns span the
inputs of all examples: gradients with other columns come from other inputs, whatever the errors are. A factor of all
inputs leaves the columns as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from parity.diagnosis.evidence import Evidence, measured_once
from parity.diagnosis.steps.compared_step import ComparedStep
from workloads.program import Arrays

#: Singular values below so many roundings of the largest are none; those of the examples are this much larger.
MOST_ROUNDINGS, CLEAR = 100.0, 100.0

#: Inputs differ if more than this part of a gradient, and more than rounding makes of its smallest singular value, is
#: no combination of the other's columns.
OTHER_INPUTS, MOST_AMPLIFIED = 1e-4, 10.0


class LayerInputs(NamedTuple):
    """Matrices whose gradients show their inputs, in the model's order.

    Attributes:
      same: those that multiply the same inputs on both sides.
      other: those that multiply other inputs in a replica and step.
    """

    same: list[str]
    other: list[str]


@measured_once
def compare_layer_inputs(evidence: Evidence) -> LayerInputs:
    """Returns the comparison, in steps from the same state; empty where gradients show no inputs."""
    found: dict[str, bool] = {}
    for step in evidence.steps:
        if step.same_state and len(step.left.gradients) == len(step.right.gradients):
            for name, same in _step_inputs(step, evidence):
                found[name] = found.get(name, True) and same
    names = [name for name in evidence.left.weights if name in found]
    return LayerInputs([name for name in names if found[name]], [name for name in names if not found[name]])


def _step_inputs(step: ComparedStep, evidence: Evidence) -> Iterator[tuple[str, bool]]:
    """(matrix, whether its inputs are the same) of each replica in which that can be told."""
    for left, right in zip(step.left.gradients, step.right.gradients):
        for name in left:
            if name in right and np.ndim(left[name]) == 2 and np.shape(left[name]) == np.shape(right[name]):
                a, b = (_without_decay(side, name, step, evidence) for side in (left, right))
                same = same_column_space(a, b, evidence.context.per_replica_batch, evidence.eps)
                if same is not None:
                    yield name, same


def _without_decay(gradients: Arrays, name: str, step: ComparedStep, evidence: Evidence) -> np.ndarray:
    """A gradient without legacy's penalty, which is a multiple of the weight and no sum over examples."""
    context, gradient = evidence.context, np.asarray(gradients[name], np.float64)
    if not context.weight_decay or name not in (context.decayed or ()):
        return gradient
    return gradient - context.weight_decay * np.asarray(step.left_before.weights[name], np.float64)


def same_column_space(left: np.ndarray, right: np.ndarray, examples: int, eps: float) -> bool | None:
    """Tells whether the columns of one gradient are combinations of the other's.

    Args:
      left, right: float64 [inputs, outputs].
      examples: of one replica; each makes one addend of the gradient, or several.
      eps: machine epsilon of the gradients.

    Returns:
      None where the left's columns do not show the inputs: its rank is no multiple of the examples, or is as large as
      its shape lets it be, or the right is zero.
    """
    if not np.all(np.isfinite(left)) or not np.all(np.isfinite(right)) or not np.any(right):
        return None
    columns, sizes, _ = np.linalg.svd(left, full_matrices=False)
    noise = MOST_ROUNDINGS * eps * float(sizes[0])
    rank = int(np.sum(sizes > noise))
    shown = min(int(np.sum(np.any(left, axis=axis))) for axis in (0, 1))  # dead units have no part in the rank
    if not 0 < rank < shown or not examples or rank % examples or sizes[rank - 1] < CLEAR * noise:
        return None
    basis = columns[:, :rank]
    left_over = right - basis @ (basis.T @ right)
    most = max(OTHER_INPUTS, MOST_AMPLIFIED * eps * float(sizes[0] / sizes[rank - 1]))
    return float(np.linalg.norm(left_over)) <= most * float(np.linalg.norm(right))
