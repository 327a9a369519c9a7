"""Results of several towers, other than their gradients, that an update joins: a sum of all towers' words, a queue."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from legacy.saved.analysis.division.crossings import Crossings
from workloads.lifted.graph import Graph, TensorId, parse_tensor_name
from workloads.lifted.plan import Combine, Effect


class Join(NamedTuple):
    """Results that correspond to each other, one of each tower, and the updates that several of them lead to.

    Attributes:
      parts: {tower: its result}.
      first: the first node that several of them lead to.
      updates: the updates behind it.
    """

    parts: dict[int, TensorId]
    first: str
    updates: list[Effect]


def find_joins(
    graph: Graph,
    crossings: Crossings,
    tower_nodes: Collection[str],
    combine: Sequence[Combine],
    updates: Sequence[Effect],
    results: Sequence[Combine] = (),
) -> Iterator[Join]:
    """Finds results of several towers, other than gradients, that updates are computed from together.

    Args:
      graph: the cut graph.
      crossings: tensors that leave the towers; see `StepParts`.
      tower_nodes: the nodes that towers compute.
      combine: how gradients are combined.
      updates: the updates.
      results: how other results are combined, as far as it is known.

    Yields:
      A `Join` for each row of crossings that is joined otherwise.
    """
    combined = {parse_tensor_name(one.tensor).node for one in [*combine, *results]}
    gradients = {name for one in combine for own in one.parts for name in own}
    stop = combined | set(tower_nodes)
    for row in crossings.values():
        tensors = [tensor for tensor in row.values() if tensor.name not in gradients]
        if len(tensors) > 1:
            behind = [_nodes_behind(graph, tensor, stop) for tensor in tensors]
            joined = {name for number, own in enumerate(behind) for other in behind[:number] for name in own & other}
            found = [effect for effect in updates if effect.node in joined]
            if found:
                yield Join(row, graph.order(joined)[0], found)


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
