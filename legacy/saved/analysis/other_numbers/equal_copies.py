"""Variables that each tower has a copy of, such as word vectors that nothing trains: whether all copies are equal.

Replicas may share the first tower's where an op changes none of them, and they begin with the same numbers in the graph
and in the checkpoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from legacy.saved.graph import op_types
from legacy.saved.graph.assignments import written_variables
from workloads.lifted.graph import Graph

if TYPE_CHECKING:
    from workloads.lifted.plan import Plan
    from workloads.program import Arrays


def without_equal_copies(whole: Graph, names: Sequence[str], own: Sequence[tuple[str, str]]) -> list[str]:
    """Leaves out variables that hold the same constant as the other towers' in whose place they are.

    Args:
      whole: the whole graph, with the ops that initialize.
      names: variables of the first tower.
      own: (variable of the first tower, the one that another tower reads in its place).

    Returns:
      The names of the others.
    """
    changed = set(written_variables(whole).values()) if names else set()
    return [name for name in names if not _are_equal(whole, {name, *_copies(own, name)}, changed)]


def begun_apart(own: Sequence[tuple[str, str]], plan: Plan, start: Arrays) -> list[str]:
    """Finds weights and constants of the first tower that begin with other values than other towers' have.

    Args:
      own: (variable of the first tower, the one that another tower reads in its place).
      plan: of the step.
      start: {variable: value that a lift starts from}.

    Returns:
      Their names.
    """
    changed = {name for phase in plan.phases for effect in phase.effects for name in effect.writes}
    kept = {v.name for v in plan.variables if v.role == "weight" or (v.role != "state" and v.name not in changed)}
    pairs = [(first, other) for first, other in own if {first, other} <= kept]
    return list(dict.fromkeys(first for first, other in pairs if not np.array_equal(start[first], start[other])))


def _copies(own: Sequence[tuple[str, str]], name: str) -> list[str]:
    """Returns the variables that other towers read in the place of the first one's."""
    return [other for first, other in own if first == name]


def _are_equal(whole: Graph, names: set[str], changed: set[str]) -> bool:
    """Returns whether variables begin with one constant, and no op changes them."""
    values = [_first_value(whole, name) for name in sorted(names)]
    first = values[0]
    if first is None or changed & names:
        return False
    return all(value is not None and np.array_equal(first, value) for value in values)


def _first_value(whole: Graph, variable: str) -> np.ndarray | None:
    """Returns the constant that a variable's own initializer sets it to; None for any other value."""
    assign = whole.nodes.get(variable + "/Assign")
    if assign is None or whole.type(assign.name) not in op_types.SETS:
        return None
    value = whole.inputs(assign.name)[1].node
    while whole.type(value) == "Identity":
        value = whole.inputs(value)[0].node
    return tf.make_ndarray(whole.nodes[value].attr["value"].tensor) if whole.type(value) == "Const" else None
