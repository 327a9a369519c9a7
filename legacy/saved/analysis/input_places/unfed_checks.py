"""Assertions about data that nothing else in a step takes.

Nobody knows what a program fed there, and no number of the step depends on it: the step is run without them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from legacy.saved.graph.cut.idle import idle_nodes, make_idle
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.graph.edits import GraphCopy
from workloads.support.wording import FEW, listed

_ASSERT = "Assert"


def unfed_checks(graph: Graph, inputs: Collection[TensorId]) -> dict[str, set[str]]:
    """Finds the placeholders that only assertions take, and that no input is made of.

    Args:
      graph: the cut graph.
      inputs: the tensors that bring data into the towers, and into what is computed once.

    Returns:
      {placeholder: the nodes that depend on its value}.
    """
    checks = graph.of_types(_ASSERT)
    holders = {name for name in graph.ancestors(checks, controls=False) if graph.type(name) == "Placeholder"}
    holders -= graph.ancestors({tensor.node for tensor in inputs}, controls=False)
    behind = {name: graph.descendants([name], controls=False) - {name} for name in sorted(holders)}
    return {
        name: nodes
        for name, nodes in behind.items()
        if nodes and idle_nodes(graph, nodes, graph.nodes, checks=[_ASSERT]) == nodes
    }


def without_checks(graph: Graph, checks: Mapping[str, Collection[str]]) -> Graph | None:
    """Leaves out assertions; what waited for them waits for what they waited for.

    Args:
      graph: the cut graph.
      checks: see `unfed_checks`.

    Returns:
      The graph; None if there are no such assertions.
    """
    if not checks:
        return None
    result = GraphCopy(graph)
    for name in dict.fromkeys(name for nodes in checks.values() for name in nodes):
        before = [tensor.node for tensor in graph.inputs(name) if tensor.node not in checks]
        make_idle(result.nodes[name], dict.fromkeys([*before, *graph.controls(name)]))
    return result.graph()


def note_on_checks(checks: Mapping[str, Collection[str]]) -> str:
    """Returns a sentence on the assertions that are left out; "" without any."""
    return (
        f"assertions about {listed(list(checks), FEW)}, on which nothing else depends, are left out" if checks else ""
    )
