"""First values of a port's weights: whether it draws them as the old graph does.

Both sides of a comparison start from the checkpoint, so that no compared number depends on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from workloads import initializers
from workloads.initializers import Initializer
from workloads.lifted.plan import Plan
from workloads.lifted.plan.initializers import CONSTANT, GLOROT, NORMAL, ORTHOGONAL, TRUNCATED_NORMAL, UNIFORM
from workloads.support.wording import FEW, listed
from workloads.variable_spec import VariableSpec

#: So many numbers are drawn from each of two distributions that are compared: they tell mean and spread to 2 %.
DRAWN = 4096
#: Two distributions count as one if their spreads differ at most by this part, and their means by it times the spread.
SAME = 0.1

_KINDS = {
    CONSTANT: initializers.Constant,
    TRUNCATED_NORMAL: initializers.TruncatedNormal,
    GLOROT: initializers.GlorotUniform,
    NORMAL: initializers.Normal,
    ORTHOGONAL: initializers.Orthogonal,
    UNIFORM: initializers.Uniform,
}


def initializer_note(plan: Plan, weights: Mapping[str, str], specs: Sequence[VariableSpec]) -> str:
    """Compares the initializers of a port with those that were found in the old graph.

    Args:
      plan: of the lift.
      weights: {weight of the port: variable of the old graph}.
      specs: the port's variables.

    Returns:
      A sentence that names the weights that are drawn from other distributions; "" if there are none.
    """
    known = {variable.name: variable.initializer for variable in plan.variables if variable.initializer}
    differing = []
    for spec in specs:
        text = known.get(weights.get(spec.name, ""), "")
        if spec.initializer is None or not text:
            continue
        old = parse_initializer(text)
        if not draw_alike(old, spec.initializer, spec.shape):
            differing.append(f"{spec.name} ({old} in the old graph, {spec.initializer} in the port)")
    if not differing:
        return ""
    others = listed(differing, FEW)
    return f"not compared, since both sides start from the checkpoint: other initializers of {others}"


def parse_initializer(text: str) -> Initializer:
    """Returns the initializer that a plan names; see `Variable.initializer`.

    >>> parse_initializer("truncated_normal 0.5"), parse_initializer("glorot_uniform")
    (TruncatedNormal(stddev=0.5), GlorotUniform())
    """
    kind, *numbers = text.split()
    made: Initializer = _KINDS[kind](*map(float, numbers))
    return made


def draw_alike(left: Initializer, right: Initializer, shape: Sequence[int]) -> bool:
    """Returns whether two initializers draw from one distribution, as far as its mean and spread tell.

    Args:
      left: an initializer.
      right: another one.
      shape: of the variable, which a distribution may depend on.

    Returns:
      The answer.
    """
    first, second = (_drawn(initializer, shape) for initializer in (left, right))
    if np.allclose(first, second, rtol=1e-5, atol=0.0):
        return True
    spread = max(float(first.std()), float(second.std()))
    gap = max(abs(float(first.mean() - second.mean())), abs(float(first.std() - second.std())))
    return gap <= SAME * spread


def _drawn(initializer: Initializer, shape: Sequence[int]) -> np.ndarray:
    """Returns at least `DRAWN` numbers, from the same random numbers for every initializer."""
    draws = -(-DRAWN // max(1, int(np.prod(shape))))
    rng = np.random.RandomState(0)
    return np.concatenate([np.ravel(initializer(shape, rng)).astype(np.float64) for _ in range(draws)])
