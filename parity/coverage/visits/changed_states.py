"""States of visits: a state with arrays multiplied, and one visit for each train op of a program."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

import numpy as np

from parity.comparison.tour import Visit
from workloads.program import Arrays, State


def times(array: np.ndarray, factor: float) -> np.ndarray:
    """Returns an array of floats multiplied, in its dtype; other arrays as they are.

    >>> times(np.float32([1.0, 2.0]), 0.5), times(np.int32([4]), 0.5)
    (array([0.5, 1. ], dtype=float32), array([4], dtype=int32))
    """
    return np.asarray(array * factor, array.dtype) if array.dtype.kind == "f" else array


def all_times(arrays: Arrays, factor: float) -> Arrays:
    """Returns arrays multiplied, see `times`."""
    return {name: times(array, factor) for name, array in arrays.items()}


def weights_times(state: State, factor: float) -> Visit:
    """Returns the visit of a state with its weights multiplied."""
    return Visit(f"weights times {factor:g}", dataclasses.replace(state, weights=all_times(state.weights, factor)))


def for_each_phase(visits: Iterable[Visit], phases: int, first_step: int) -> Iterator[Visit]:
    """Repeats visits for a program that runs several train ops in turn.

    Args:
      visits: the visits.
      phases: number of train ops.
      first_step: number of the step from the first visit.

    Yields:
      each visit once for each train op, the numbers of the steps one after the other.
    """
    step = first_step
    for visit in visits:
        for _ in range(phases):
            yield visit._replace(state=dataclasses.replace(visit.state, step=step))
            step += 1
