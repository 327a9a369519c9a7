"""Layers of towers behind results that all towers exchange, as behind a batch normalization of all towers' moments.

Such a layer depends on all towers, and yet each tower has it for its own part of the batch, with the weights that all
share. Layers that stand on several devices, or paths that take each other's results, have other weights on each.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from legacy.saved.graph import op_types
from legacy.saved.tower_search.towers import is_of_several
from workloads.lifted.graph import Graph
from workloads.lifted.tensors.gradient_names import is_gradient_op


def layers_behind_exchanges(
    graph: Graph,
    masks: Mapping[str, int],
    labels: Mapping[str, int],
    weights: Collection[str],
    members: Collection[str],
) -> tuple[set[str], set[str]]:
    """Finds the forward nodes of towers that depend on all towers' results, and continue a tower's own layers.

    Args:
      graph: the subgraph that a step runs.
      masks: {node: bit set}, as in `Towers`.
      labels: {node: tower number}.
      weights: names of the variables that are trained.
      members: nodes that the losses are computed by.

    Returns:
      The nodes, and those beside them that have a tower's label and join several towers' results, such as a mean on
      the first tower's device; none where not every tower has layers with the same weights there.
    """
    forward = [name for name in graph.order(labels.keys() & set(members)) if not is_gradient_op(name)]
    shared = [name for name in forward if is_of_several(masks.get(name, 0))]
    used = [{name: weights_used(graph, name, weights) for name in shared if labels[name] == k} for k in _towers(labels)]
    read = [sorted(one for names in own.values() for one in names) for own in used]
    if not read or not read[0] or any(own != read[0] for own in read):
        return set(), set()
    layers = {name for own in used for name, names in own.items() if names}
    joining = _joining(graph, shared, masks, labels, layers)
    return set(shared) - joining, joining


def weights_used(graph: Graph, name: str, weights: Collection[str]) -> list[str]:
    """Finds the weights that a node takes the values of, directly or by way of their reads.

    Args:
      graph: the graph.
      name: of the node.
      weights: names of the variables.

    Returns:
      Their names, as often as the node takes them.
    """
    found, todo = [], [tensor.node for tensor in graph.inputs(name)]
    while todo:
        before = todo.pop()
        if before in weights:
            found.append(before)
        elif graph.type(before) in (*op_types.READS, "Cast", "Enter", "Switch"):
            todo += [tensor.node for tensor in graph.inputs(before)[:1]]
    return found


def _towers(labels: Mapping[str, int]) -> list[int]:
    return sorted(set(labels.values()))


def _joining(
    graph: Graph,
    shared: Collection[str],
    masks: Mapping[str, int],
    labels: Mapping[str, int],
    layers: Collection[str],
) -> set[str]:
    """Finds the nodes that make one result of several towers' for all of them, such as a mean.

    Args:
      graph: the subgraph that a step runs.
      shared: forward nodes with labels that depend on several towers, in topological order.
      masks: {node: bit set}, as in `Towers`.
      labels: {node: tower number}.
      layers: those nodes that take weights: each is of its own tower.

    Returns:
      The nodes that take several towers' results, and those computed of these alone, that other towers use.
    """
    joined: set[str] = set()
    for name in shared:
        of_data = [tensor.node for tensor in graph.inputs(name) if masks.get(tensor.node, 0)]
        towers = {labels.get(before) for before in of_data if before not in joined} - {None}
        if name not in layers and of_data and len(towers) != 1:
            joined.add(name)
    found: set[str] = set()
    for name in reversed([name for name in shared if name in joined]):
        users = [use.node for use in graph.users(name) if masks.get(use.node, 0) and not is_gradient_op(use.node)]
        if any(user in found or labels.get(user) != labels[name] for user in users):
            found.add(name)
    return found
