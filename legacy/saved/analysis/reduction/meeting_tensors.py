"""Where the towers' gradients of one variable meet: the path through a graph from them to the update rule."""

from __future__ import annotations

import collections
from collections.abc import Callable, Collection, Iterator

from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph, TensorId

#: Ops that only add, scale or reshape, if their other inputs are constants.
LINEAR = ("Mul", "RealDiv", "Div", "Identity", "Reshape", "Squeeze", "Neg", "Mean", "Sum", "ExpandDims", "Cast")


def nearest_tensors(
    graph: Graph, tensor: TensorId, tower_nodes: dict[str, int], is_like: Callable[[str, int], bool], towers: int
) -> list[list[TensorId]]:
    """Finds the towers' tensors nearest to an update rule's gradient that could be gradients of the same variable.

    Clipping by a global norm makes every gradient depend on every other; the nearest ones are its own.

    Args:
      graph: the cut graph.
      tensor: the gradient that the update rule gets.
      tower_nodes: {node: tower}.
      is_like: says of (node, output) whether it has the gradient's dtype and a fitting shape.
      towers: number of towers.

    Returns:
      For each tower, its nearest tensors; an empty list where none was found.
    """
    found: list[list[TensorId]] = [[] for _ in range(towers)]
    level, seen = [tensor], {tensor}
    while level and not all(found):
        behind: list[TensorId] = []
        now: list[list[TensorId]] = [[] for _ in range(towers)]
        for tensor in level:
            if tensor.node not in tower_nodes:
                behind += graph.inputs(tensor.node)
            elif is_like(*tensor):
                now[tower_nodes[tensor.node]].append(tensor)
        found = [nearest or tensors for nearest, tensors in zip(found, now)]
        level = [before for before in dict.fromkeys(behind) if before not in seen]
        seen.update(level)
    return found


def meeting_tensors(
    graph: Graph, flat: list[TensorId], target: TensorId, tower_nodes: Collection[str]
) -> Iterator[TensorId]:
    """Finds the tensors behind `target` that are the first to depend on all of `flat`, and on no other tower's tensor.

    Args:
      graph: the cut graph.
      flat: gradients of all towers.
      target: the gradient that the update rule gets.
      tower_nodes: the nodes that towers compute.

    Yields:
      the tensors, those nearer to the target first.
    """
    sources = _sources_behind(graph, flat, target, tower_nodes)
    wanted = (1 << len(set(flat))) - 1
    level, seen = [target], {target}
    while level:
        behind = []
        for tensor in level:
            before = [b for b in graph.inputs(tensor[0]) if b[0] not in tower_nodes]
            first = sources[tensor] == wanted and not any(sources[b] == wanted for b in before)
            if first and not _sources_around(graph, target, tensor, tower_nodes).intersection(flat):
                yield tensor
            behind += [b for b in before if sources[b] & wanted == wanted]
        level = [b for b in dict.fromkeys(behind) if b not in seen]
        seen.update(level)


def _sources_behind(
    graph: Graph, flat: list[TensorId], target: TensorId, tower_nodes: Collection[str]
) -> dict[TensorId, int]:
    """Finds the towers' tensors that each tensor behind `target` depends on.

    Args:
      graph: the cut graph, which may have loops.
      flat: gradients of all towers.
      target: the gradient that the update rule gets.
      tower_nodes: the nodes that towers compute.

    Returns:
      {tensor: a bit for each of `flat` in their order, and the next one for any other tensor of a tower}.
    """
    own = {tensor: 1 << i for i, tensor in enumerate(dict.fromkeys(flat))}
    found: dict[TensorId, int] = {}
    users: dict[TensorId, list[TensorId]] = {}
    todo = [target]
    while todo:
        tensor = todo.pop()
        if tensor in found:
            continue
        of_tower = tensor.node in tower_nodes
        found[tensor] = own.get(tensor, 1 << len(own) if of_tower else 0)
        for before in () if of_tower and tensor != target else graph.inputs(tensor.node):
            todo.append(before)
            if tensor not in own and not of_tower:
                users.setdefault(before, []).append(tensor)
    changed = collections.deque(tensor for tensor, bits in found.items() if bits)
    while changed:
        before = changed.popleft()
        for user in users.get(before, ()):
            if found[user] | found[before] != found[user]:
                found[user] |= found[before]
                changed.append(user)
    return found


def _sources_around(graph: Graph, target: TensorId, avoided: TensorId, tower_nodes: Collection[str]) -> set[TensorId]:
    """The towers' tensors that lead to `target` by paths around the tensor `avoided`."""
    seen, todo = {target}, [target] if target != avoided else []
    found: set[TensorId] = set()
    while todo:
        for before in graph.inputs(todo.pop()[0]):
            if before[0] in tower_nodes:
                found.add(before)
            elif before not in seen and before != avoided:
                seen.add(before)
                todo.append(before)
    return found


def linear_chain(graph: Graph, imported: ImportedGraph, meeting: TensorId, target: TensorId) -> Iterator[TensorId]:
    """Goes from `meeting` to `target` by ops that only scale or reshape: "sum, then divide by N".

    Args:
      graph: the cut graph.
      imported: the graph as TensorFlow imports it.
      meeting: the tensor to begin with.
      target: the gradient that the update rule gets.

    Yields:
      `meeting` and the tensors behind it, up to the target or to the first op of another kind.
    """
    tensor: TensorId | None = meeting
    while tensor is not None:
        yield tensor
        tensor = None if tensor == target else _only_linear_user(graph, imported, tensor)


def _only_linear_user(graph: Graph, imported: ImportedGraph, tensor: TensorId) -> TensorId | None:
    """The output of a tensor's only user, if that only scales or reshapes it; else None."""
    users = [(user, position) for user, position, output in graph.users(tensor[0]) if output == tensor[1]]
    if len(users) != 1 or graph.type(users[0][0]) not in LINEAR:
        return None
    user, position = users[0]
    others = [other for i, other in enumerate(graph.inputs(user)) if i != position]
    constants = [imported.constant(*other) for other in others]
    return None if any(constant is None for constant in constants) else TensorId(user, 0)
