"""Functions of the step: values computed from counters and constants alone, such as whether an update is due."""

from __future__ import annotations

from collections.abc import Collection

import tensorflow as tf

from legacy.saved.graph.op_types import VARIABLES
from parity.coverage.graph.boundaries import COMPARISONS, REMAINDERS
from workloads.lifted.graph import Graph

#: Ops that compute or compare whole numbers: other ones take them as shapes, axes or positions.
_OF_NUMBERS = {
    *("Add", "AddV2", "AssignAdd", "Cast", "Div", "Equal", "FloorDiv", "Identity", "Maximum", "Minimum", "Mul"),
    *("NotEqual", "Pow", "RealDiv", "Sub"),
    *COMPARISONS,
    *REMAINDERS,
}
#: Words in the types of ops whose results differ from step to step though their inputs do not.
_VARYING = ("Random", "Multinomial", "Iterator", "Dequeue", "PyFunc", "Placeholder")


def functions_of_step(graph: Graph, nodes: Collection[str]) -> set[str]:
    """Finds values that depend on step counters, and on nothing else but constants.

    Args:
      graph: the graph.
      nodes: names of the nodes to look at, with all that they depend on.

    Returns:
      The names of the nodes; a counter is a variable of one whole number.
    """
    return functions_and_constants(graph, nodes)[0]


def functions_and_constants(graph: Graph, nodes: Collection[str]) -> tuple[set[str], set[str]]:
    """Finds values that depend on step counters, and those on constants alone; see `functions_of_step`.

    Returns:
      The names of the nodes of either kind.
    """
    constant, found = set[str](), set[str]()
    for name in graph.order(nodes):
        kind, inputs = graph.type(name), {tensor.node for tensor in graph.inputs(name)}
        if kind in VARIABLES:
            found |= {name} if _is_counter(graph, name) else set()
        elif kind == "Const":
            constant.add(name)
        elif inputs and inputs <= constant | found and not any(word in kind for word in _VARYING):
            (found if inputs & found else constant).add(name)
    return found, constant


def constants_of_step(graph: Graph, nodes: Collection[str]) -> set[str]:
    """Finds the constants that functions of the step are computed from.

    Args:
      graph: the graph.
      nodes: names of the nodes to look at, with all that they depend on.

    Returns:
      The names of the constants: floats, and whole numbers that are no shapes and the like.
    """
    found = functions_of_step(graph, nodes)
    before = graph.ancestors(found, controls=False)
    return {
        name
        for name in before
        if graph.type(name) == "Const"
        and (tf.as_dtype(graph.nodes[name].attr["dtype"].type).is_floating or _is_number(graph, name))
    }


def is_period(graph: Graph, constants: Collection[str]) -> bool:
    """Returns whether nodes hold a number of steps after which remainders are the same again."""
    uses = [use for node in constants for use in graph.users(node)]
    return bool(uses) and all(graph.type(use.node) in REMAINDERS and use.position == 1 for use in uses)


def _is_counter(graph: Graph, name: str) -> bool:
    """Whether a variable is one whole number."""
    attributes = graph.nodes[name].attr
    if "dtype" not in attributes or "shape" not in attributes:
        return False
    shape = attributes["shape"].shape
    return bool(tf.as_dtype(attributes["dtype"].type).is_integer and not shape.unknown_rank and not shape.dim)


def _is_number(graph: Graph, name: str) -> bool:
    """Whether ops use a constant as a number."""
    uses = [use.node for use in graph.users(name)]
    return bool(uses) and all(graph.type(node) in _OF_NUMBERS for node in uses)
