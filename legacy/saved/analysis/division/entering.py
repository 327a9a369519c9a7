"""Tensors that bring data into towers, and into the nodes that are computed once."""

from __future__ import annotations

from collections.abc import Collection

from legacy.saved.graph import op_types
from legacy.saved.graph.variables import VariableUses
from legacy.saved.tower_search.towers import Towers
from workloads.lifted.graph import Graph, TensorId


def find_cuts(
    graph: Graph, state: VariableUses, towers: Towers, tower_nodes: dict[str, int], returns: list[list[TensorId]]
) -> list[list[TensorId]]:
    """Finds the tensors that bring data into the towers.

    Args:
      graph: the cut graph.
      state: its variables.
      towers: the towers.
      tower_nodes: {node: the tower that computes it}.
      returns: for each tower, tensors that come back into it; they are no cuts.

    Returns:
      For each tower its cuts, in the order of first use.
    """
    cuts = []
    for tower in range(towers.count):
        own = [name for name in graph.nodes if tower_nodes.get(name) == tower]  # in the order of the graph
        cuts.append(_tensors_entering(graph, state, towers, own, tower_nodes, set(returns[tower])))
    return cuts


def find_common_cuts(
    graph: Graph,
    state: VariableUses,
    towers: Towers,
    tower_nodes: dict[str, int],
    effects: list[str],
    losses: list[TensorId],
    returned: list[TensorId],
) -> list[TensorId]:
    """Finds the tensors that bring data or settings into the nodes that are computed once.

    Args:
      graph: the cut graph.
      state: its variables.
      towers: the towers.
      tower_nodes: {node: the tower that computes it}.
      effects: the step's update ops.
      losses: tensors that are computed besides.
      returned: returns that are computed once.

    Returns:
      The tensors, sorted.
    """
    ends = effects + [name for name, _ in losses if name not in tower_nodes] + [name for name, _ in returned]
    return sorted(_tensors_entering(graph, state, towers, ends, tower_nodes))


def _tensors_entering(
    graph: Graph,
    state: VariableUses,
    towers: Towers,
    ends: list[str],
    tower_nodes: dict[str, int],
    stop: Collection[TensorId] = (),
) -> list[TensorId]:
    """Tensors that bring data or settings to some nodes, directly or by way of nodes that belong to no tower."""
    found: dict[TensorId, None] = {}
    seen, todo = set(ends), list(reversed(ends))
    while todo:
        for tensor in graph.inputs(todo.pop()):
            producer = tensor[0]
            if tensor in state.aliases or producer in tower_nodes or tensor in stop:
                continue
            if brings_data(graph, towers, producer):
                found[tensor] = None
            elif producer not in seen:
                seen.add(producer)
                todo.append(producer)
    return list(found)


def brings_data(graph: Graph, towers: Towers, producer: str) -> bool:
    """Tells whether a node holds data that no tower has computed: a placeholder, or a node before all towers.

    Args:
      graph: the cut graph.
      towers: the towers.
      producer: name of the node.

    Returns:
      Whether it does.
    """
    if graph.type(producer) == "Placeholder":
        return True
    return towers.is_common(producer) and not op_types.is_random(graph.type(producer))
