"""Other values of a constant, and how they are written in reports."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from parity.coverage.changed_constants import EPSILON_FACTOR, FROM_ZERO
from parity.coverage.graph.outside_constants import place_of
from workloads.lifted.graph import Graph

#: A scalar below this is an epsilon: only its order of magnitude matters.
EPSILON = 1e-5

#: Change of a term of a number that is rounded down.
HALF_STAIR = 0.5

#: What a number becomes that only decides whether a product is finite: a smaller change matters only beside the largest
#: number.
OVERFLOWING = 2.0**127

#: Ops that ask whether numbers are finite.
ASK_FINITE = {"IsFinite", "IsInf", "IsNan"}

#: Ops of which a constant is a term.
_SUMS = ("Add", "AddV2", "Sub")


def changed_numbers(value: np.ndarray, factor: float) -> list[np.ndarray]:
    """Returns the values that a constant is changed to; `factor` is on a float, or on its distance from 1."""
    if value.dtype.kind in "iu":
        return [np.asarray(value - 1, value.dtype), np.asarray(value + 1, value.dtype)]
    wide = np.asarray(value, np.float64)
    if not np.any(wide):
        return [np.asarray(wide + FROM_ZERO, value.dtype)]
    if wide.size == 1 and abs(float(wide.ravel()[0])) < EPSILON:
        return [np.asarray(wide * EPSILON_FACTOR, value.dtype)]
    kept = wide.size == 1 and 0.5 < float(wide.ravel()[0]) < 1
    return [np.asarray(1 - (1 - wide) * factor if kept else wide * factor, value.dtype)]


def is_term_of_floor(graph: Graph, constants: Collection[str]) -> bool:
    """Returns whether nodes of a constant are only added to, or subtracted from, numbers that are only rounded down."""
    return _is_only_in(graph, constants, _SUMS, {"Floor"})


def only_asks_finite(graph: Graph, constants: Collection[str]) -> bool:
    """Returns whether nodes of a constant are only used in products that are only tested for being finite."""
    return _is_only_in(graph, constants, ("Mul",), ASK_FINITE)


def _is_only_in(graph: Graph, constants: Collection[str], kinds: Collection[str], taken_by: Collection[str]) -> bool:
    """Returns whether all users of a constant's nodes are of some types, and all users of these of some others."""
    users = [use.node for node in constants for use in graph.users(place_of(node))]
    further = {graph.type(use.node) for name in users for use in graph.users(name)}
    return bool(further) and further <= set(taken_by) and all(graph.type(name) in kinds for name in users)


def words_of(value: np.ndarray) -> str:
    """Returns a constant in words: its first number, and its shape."""
    first = value.ravel()[0]
    return f"{first:.6g}" if value.size == 1 else f"{first:.6g}, ... {list(value.shape)}"
