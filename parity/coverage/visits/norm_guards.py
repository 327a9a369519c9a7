"""States in which the guards of a ratio of norms act, as in `where(norm > 0, norm / norm_of_update, 1)`.

Layer-wise optimizers have such guards: LARS (You et al. 2017, arXiv:1708.03888), LAMB (arXiv:1904.00962).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from parity.comparison.tour import Visit
from parity.coverage.visits.changed_states import all_times, times
from parity.coverage.visits.job_visits import SMALL_WEIGHTS
from workloads.program import Arrays, State

#: Groups of kernels: with all of them zero hardly any would have a gradient.
GROUPS = 4
#: Least weight beside a kernel near zero, so that rectifiers behind it pass a gradient; after the factors below, the
#: square of such a weight is not rounded to zero.
POSITIVE = 0.5
#: {factor on the weights: value of the moments of squares}, for updates whose norm is small, and those whose squares
#: are rounded to zero. A decayed weight is a part of the update, so that it has to be small, too.
SMALL_UPDATES = {2.0**-10: 1e20, SMALL_WEIGHTS: 1e38}


def at_guards_of_norms(state: State) -> Iterator[Visit]:
    """Makes states with weights of zeros or near zero, and with updates near zero.

    A kernel of zeros has no gradient if its neighbors, or the bias behind it, are zeros, too.

    Args:
      state: the state to change.

    Yields:
      the visits.
    """
    names = list(state.weights)
    kernels = [name for name in names if state.weights[name].ndim > 1]
    halves = {"every second weight": names[0::2], "the other weights": names[1::2]}
    apart = {f"every fourth kernel from number {n + 1}": kernels[n::GROUPS] for n in range(GROUPS)}
    for some in (halves, apart):
        for factor, place in ((0.0, "zero"), (SMALL_WEIGHTS, "near zero")):
            for which, chosen in some.items():
                if chosen:
                    weights = {**state.weights, **_small(state, chosen, factor)}
                    yield _visit(f"{which} at {place}", dataclasses.replace(state, weights=weights))
    for which, chosen in apart.items():
        if chosen:
            weights = {**_positive(state.weights), **_small(state, chosen, SMALL_WEIGHTS)}
            yield _visit(f"{which} near zero, other weights positive", dataclasses.replace(state, weights=weights))
    yield from _small_updates(state)


def _small_updates(state: State) -> Iterator[Visit]:
    """Yields the state with large second moments; Adam and its like divide an update by their roots."""
    squares = [
        name for name, value in state.slots.items() if value.dtype.kind == "f" and value.ndim and _is_of_squares(value)
    ]
    for factor, value in SMALL_UPDATES.items() if squares else ():
        large = {name: np.full_like(state.slots[name], value) for name in squares}
        changed = dataclasses.replace(
            state, weights=all_times(_positive(state.weights), factor), slots={**state.slots, **large}
        )
        yield _visit(f"moments of squares at {value:g}, weights positive and times {factor:.1g}", changed)


def _is_of_squares(value: np.ndarray) -> bool:
    """Whether an array may hold moving averages, or sums, of squares."""
    return bool(value.any()) and bool((value >= 0).all())


def _small(state: State, names: list[str], factor: float) -> Arrays:
    return {name: times(state.weights[name], factor) for name in names}


def _positive(arrays: Arrays) -> Arrays:
    """Returns arrays of floats with no element below `POSITIVE`; other arrays as they are."""
    return {
        name: np.maximum(np.abs(array), np.asarray(POSITIVE, array.dtype)) if array.dtype.kind == "f" else array
        for name, array in arrays.items()
    }


def _visit(name: str, state: State) -> Visit:
    return Visit(name, state, may_overflow=True, may_underflow=True)
