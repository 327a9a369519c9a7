"""Values that scalar variables begin with, as those that hold an optimizer's constants."""

from __future__ import annotations

from legacy.saved.analysis.initializers import find_initializer
from workloads.lifted.graph import Graph
from workloads.lifted.plan.initializers import CONSTANT


def first_value(whole: Graph, variable: str) -> float | None:
    """Returns the number that a scalar variable begins with; None where its initializer is no constant.

    Args:
      whole: the whole graph, with the ops that initialize.
      variable: its name.
    """
    found = find_initializer(whole, variable, [])
    return float(found.numbers[0]) if found is not None and found.kind == CONSTANT else None


def with_first_value(whole: Graph, variable: str) -> str:
    """Returns a variable's name with the number that it begins with, where the graph tells it.

    Args:
      whole: the whole graph, with the ops that initialize.
      variable: its name.
    """
    value = first_value(whole, variable)
    return variable if value is None else f"{variable} ({value:g} at first)"
