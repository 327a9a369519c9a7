"""Boundaries: whole numbers that a step counter is compared with, as by a schedule."""

from __future__ import annotations

from collections.abc import Collection

from legacy.saved.graph.op_types import RESOURCE_READS, VARIABLES
from parity.coverage.graph.zeros import reaches
from workloads.lifted.graph import Graph, TensorId

#: Ops that compare two numbers.
COMPARISONS = ("Greater", "GreaterEqual", "Less", "LessEqual")
#: Ops of the remainder of a division, whose second input is the period.
REMAINDERS = ("FloorMod", "Mod", "TruncateMod")
#: Ops that hand a counter on, perhaps in another dtype.
_HANDED_ON = ("Identity", "Cast", *RESOURCE_READS)
#: Ops that may add a constant to it.
_ADDED = ("Add", "AddV2", "Sub", "AssignAdd")


def is_boundary(graph: Graph, constants: Collection[str]) -> bool:
    """Tells whether a whole number is a step at which a program changes its behaviour.

    Args:
      graph: the graph.
      constants: names of the nodes that hold the number.

    Returns:
      Whether it is only compared with step counters.
    """
    uses = [use for node in constants for use in graph.users(node)]
    return bool(uses) and all(
        graph.type(use.node) in COMPARISONS and _is_counter(graph, graph.inputs(use.node)[1 - use.position].node)
        for use in uses
    )


def is_beside_period(graph: Graph, constants: Collection[str]) -> bool:
    """Tells whether a boundary only matters at every n-th step, as in `step >= 1000 and step % 100 == 0`.

    A change of the boundary by one may then be none, in one of the directions or in both.

    Args:
      graph: the graph.
      constants: names of the nodes that hold a boundary.

    Returns:
      Whether each comparison with it only acts together with a predicate of a remainder.
    """
    comparisons = [use.node for node in constants for use in graph.users(node)]
    ends = [use for name in comparisons for use in graph.users(name)]
    return bool(ends) and all(
        graph.type(use.node) == "LogicalAnd" and _has_remainder(graph, graph.inputs(use.node)[1 - use.position].node)
        for use in ends
    )


def _has_remainder(graph: Graph, name: str) -> bool:
    return any(graph.type(node) in REMAINDERS for node in graph.ancestors([name], controls=False))


def only_changes_rates(graph: Graph, constants: Collection[str], rates: Collection[str], ends: set[str]) -> bool:
    """Tells whether all that depends on a number depends on it by learning rates.

    Args:
      graph: the graph.
      constants: names of the nodes that hold the number.
      rates: names of the learning rates' nodes.
      ends: names of the nodes whose values are compared, or change what is compared.

    Returns:
      Whether none of `ends` but the rates is reached before a rate.
    """
    return not reaches(graph, constants, ends - set(rates), set(rates))


def _is_counter(graph: Graph, name: str) -> bool:
    """Whether a tensor is a variable, and perhaps a constant that is added."""
    while graph.type(name) not in VARIABLES:
        inputs = [tensor.node for tensor in graph.inputs(name)]
        if graph.type(name) in _ADDED:
            # A constant that was moved out of control dependencies is behind an Identity.
            inputs = [node for node in inputs if graph.type(graph.origin(TensorId(node, 0)).node) != "Const"]
        elif graph.type(name) not in _HANDED_ON:
            return False
        if len(inputs) != 1:
            return False
        [name] = inputs
    return True
