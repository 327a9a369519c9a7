"""Results of several towers, other than their gradients, that an update joins: a sum of all towers' words, a queue.

How towers are combined is recognised for gradients alone. At another number of replicas nothing tells how the others'
results would be joined, so that weights, and statistics that losses depend on, have no right value there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from legacy.saved.analysis.division.crossings import Crossings
from workloads.lifted.graph import Graph, TensorId, parse_tensor_name
from workloads.lifted.plan import Combine, Effect


def joined_results(
    graph: Graph,
    crossings: Crossings,
    tower_nodes: Collection[str],
    combine: Sequence[Combine],
    updates: Sequence[Effect],
) -> list[TensorId]:
    """Finds the first results that updates are computed from and that several towers' results are joined in.

    Args:
      graph: the cut graph.
      crossings: tensors that leave the towers; see `StepParts`.
      tower_nodes: the nodes that towers compute.
      combine: how gradients are combined, which tells what becomes of these at any number of replicas.
      updates: those of weights, their slots, and other variables that the towers' losses depend on.

    Returns:
      One tensor for each row of crossings that is joined.
    """
    combined = {parse_tensor_name(one.tensor).node for one in combine}
    gradients = {name for one in combine for own in one.parts for name in own}
    stop = combined | set(tower_nodes)
    found: dict[TensorId, None] = {}
    for row in crossings.values():
        tensors = [tensor for tensor in row.values() if tensor.name not in gradients]
        if len(tensors) > 1:
            behind = [_nodes_behind(graph, tensor, stop) for tensor in tensors]
            joined = {name for number, own in enumerate(behind) for other in behind[:number] for name in own & other}
            if any(effect.node in joined for effect in updates):
                found[TensorId(graph.order(joined)[0], 0)] = None
    return list(found)


def _nodes_behind(graph: Graph, tensor: TensorId, stop: Collection[str]) -> set[str]:
    """The nodes that data flow to from a tensor, without those to stop at."""
    todo = [use.node for use in graph.users(tensor.node) if use.output == tensor.output]
    found: set[str] = set()
    while todo:
        name = todo.pop()
        if name not in found and name not in stop:
            found.add(name)
            todo += [use.node for use in graph.users(name)]
    return found
