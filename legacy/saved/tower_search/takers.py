"""The tower that alone takes an input, which others have no part in, as of a loss that one tower alone has."""

from __future__ import annotations

from legacy.saved.tower_search.towers import Towers, only_tower_of
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.plan import Input
from workloads.lifted.tensors.gradient_names import is_gradient_op


def taker_alone(graph: Graph, towers: Towers, entry: Input) -> int | None:
    """Returns the only tower that uses an input; what others differentiate of that tower's results is no use of theirs.

    Args:
      graph: the subgraph that a step runs.
      towers: its towers.
      entry: an input of one array.

    Returns:
      The tower; None where several do, none does, or each has an array of its own.
    """
    tensors = set(entry.tensors)
    if len(tensors) != 1:
        return None
    tensor = parse_tensor_name(tensors.pop())
    owned = {name for name, mask in towers.masks.items() if mask >> 1}
    users = {use.node for use in graph.users(tensor.node) if use.output == tensor.output}
    users = {name for name in users if not is_gradient_op(name)} or users
    found = 0
    for name in users | graph.descendants(users - owned, controls=False, stop=owned):
        found |= towers.masks.get(name, 0)
    return only_tower_of(found)
