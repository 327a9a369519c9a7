"""The tower that alone takes an input, and the nodes that take what each tower keeps in a variable of its own."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from legacy.saved.graph import op_types
from legacy.saved.graph.assignments import written_variables
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.tower_search.towers import Towers, only_tower_of
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.plan import Input
from workloads.lifted.tensors.gradient_names import is_gradient_op


def takers_of_kept_examples(
    graph: Graph, imported: ImportedGraph, labels: Mapping[str, int], weights: Collection[str]
) -> set[str]:
    """Returns the towers' nodes that take examples which each keeps in a variable of its own, beside drawn labels.

    No step changes or trains such a variable, and it has examples along its first dimension.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      labels: {node: tower number}.
      weights: names of the variables that are trained.

    Returns:
      The nodes; none if not every tower has some.
    """
    kept = [name for name in graph.nodes if graph.type(name) in op_types.VARIABLES and name not in weights]
    kept = [name for name in kept if len(imported.shape(name) or ()) > 1]
    changed = set(written_variables(graph).values()) if kept else set()
    found: set[str] = set()
    for name in [name for name in kept if name not in changed]:
        users: set[str] = set()
        todo = [name]
        while todo:
            takers = {use.node for use in graph.users(todo.pop())}
            reads = {user for user in takers - labels.keys() if graph.type(user) in op_types.READS}
            users |= takers - reads
            todo += reads
        towers = {labels.get(user) for user in users}
        if len(towers) == 1 and None not in towers:
            found |= users
    return found if {labels[name] for name in found} == set(labels.values()) else set()


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
