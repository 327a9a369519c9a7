"""Results of one tower by name, of the old graph and of the written function, and how far they differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Sequence, Tuple

import numpy as np

from legacy.saved.graph import op_types
from legacy.source.step.towers import parts_of_tower

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from legacy.source.made_up_tower import Tower
    from legacy.source.step.statistics import Proposal
    from workloads.program import Arrays

#: Name of the loss among the results of a tower.
LOSS = "loss"
#: A bias all of whose gradient is smaller than this share of the largest entry of any gradient may have what rounding
#: leaves of zero: a sum of some hundred addends of that size rounds by as much.
_ZERO_BUT_FOR_ROUNDING = 1e-5


def old_named(tower: Tower, weights: Sequence[str], results: Sequence[np.ndarray], state: Arrays) -> Arrays:
    """Returns the old graph's results by name: loss, gradients, further results, and statistics after their change.

    Args:
      tower: the tower.
      weights: that have gradients.
      results: see `old_results`.
      state: {variable: array} before the step.

    Returns:
      {name: array}.
    """
    parts = parts_of_tower(tower.phase, tower.number)
    named = dict(zip([LOSS, *weights], results))
    named.update(zip(parts, results[len(results) - len(parts) :]))
    of_statistics = results[1 + len(weights) :]
    rows = iter(of_statistics[len(tower.proposals) :])
    labels = _numbered([proposal.variable for proposal in tower.proposals])
    for label, proposal, change in zip(labels, tower.proposals, of_statistics):
        named[label] = _changed(proposal, state[proposal.variable], change, next(rows) if proposal.rows else None)
    return named


def new_named(
    tower: Tower,
    weights: Sequence[str],
    results: Sequence[np.ndarray],
    changes: Sequence[Tuple[str, np.ndarray]],
) -> Arrays:
    """Returns a written function's results by name.

    Args:
      tower: the tower.
      weights: that have gradients.
      results: see `_Computed`.
      changes: (statistic, new value).

    Returns:
      {name: array}.
    """
    parts = parts_of_tower(tower.phase, tower.number)
    named = dict(zip([LOSS, *weights], results))
    named.update(zip(parts, results[len(results) - len(parts) :]))
    named.update(zip(_numbered([name for name, _ in changes]), [value for _, value in changes]))
    return named


def _numbered(names: Sequence[str]) -> List[str]:
    """Returns labels of changes of variables: the name, and at a later change of the same variable its number.

    >>> _numbered(["mean", "variance", "mean"])
    ['mean', 'variance', 'mean (change 2)']
    """
    counts = [names[: place + 1].count(name) for place, name in enumerate(names)]
    return [name if count == 1 else f"{name} (change {count})" for name, count in zip(names, counts)]


def _changed(proposal: Proposal, before: np.ndarray, change: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
    """Returns a statistic after a change of all of it, or of some rows."""
    if rows is None:
        sign = -1 if proposal.op in op_types.SUBTRACTS else 1 if proposal.op in op_types.ADDS else 0
        return np.asarray(before + sign * change, before.dtype) if sign else change
    after = np.array(before)
    function = {"Sub": np.subtract.at, "Add": np.add.at}.get(proposal.op[-3:], np.ndarray.__setitem__)
    function(after, rows, change)
    return after


def differences(
    expected: Mapping[str, np.ndarray], found: Mapping[str, np.ndarray], gradients: Iterable[str]
) -> Dict[str, float]:
    """Measures how far the results of two programs differ.

    Args:
      expected: {name: result} of one program.
      found: those of the other.
      gradients: the names of those that are gradients.

    Returns:
      {name: largest difference, relative to the largest entry} of the results whose bits differ. Gradients of vectors
      that are zero but for rounding in both, as of a bias in front of a normalization by the batch, differ by 0.0.
    """
    names = [name for name in gradients if name in expected]
    limit = _ZERO_BUT_FOR_ROUNDING * max((_size(expected[name]) for name in names), default=0.0)
    result = {}
    for name in expected:
        if not np.array_equal(expected[name], found[name], equal_nan=True):
            both = (_size(expected[name]), _size(found[name]))
            vectors = np.ndim(expected[name]) == 1 and np.shape(expected[name]) == np.shape(found[name])
            rounding = vectors and name in names and min(both) > 0.0 and max(both) <= limit
            result[name] = 0.0 if rounding else relative_difference(expected[name], found[name])
    return result


def with_differences(
    before: Mapping[str, float], differing: Mapping[str, float], expected: Arrays, is_larger: bool
) -> Dict[str, float]:
    """Returns by how much results differ in any of some states.

    Args:
      before: {name: difference} in the states before; see `differences`.
      differing: {name: difference} in this state.
      expected: the results of one program in this state.
      is_larger: whether the state has far larger weights, with which a recurrent network may make any number of a
        rounding that the states before show; and results that are no numbers show nothing.

    Returns:
      {name: the largest difference}.
    """
    found = dict(before)
    for name, difference in differing.items():
        if not is_larger or np.isfinite(expected[name]).all():
            found[name] = max(found.get(name, 0.0), 0.0 if is_larger and before else difference)
    return found


def _size(array: np.ndarray) -> float:
    """The largest entry, without its sign; 0.0 of an array without entries."""
    return float(np.abs(array).max(initial=0.0))


def relative_difference(one: np.ndarray, two: np.ndarray) -> float:
    """Returns the largest difference of two arrays, relative to the largest entry of the first; inf if not alike.

    >>> relative_difference(np.array([4.0, np.inf]), np.array([3.0, np.inf]))
    0.25
    >>> relative_difference(np.array([4.0, np.nan]), np.array([4.0, 1.0]))
    inf
    """
    if np.shape(one) != np.shape(two):
        return float("inf")
    numbers = np.isfinite(one)
    if not np.array_equal(one[~numbers], two[~numbers], equal_nan=True) or not np.isfinite(two[numbers]).all():
        return float("inf")
    left, right = np.asarray(one[numbers], np.float64), np.asarray(two[numbers], np.float64)
    return float(np.abs(left - right).max(initial=0.0)) / max(float(np.abs(left).max(initial=0.0)), 1e-30)
