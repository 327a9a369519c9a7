"""Recognises paths of one model that stand on several devices, share weights and take each other's results.

Such are both directions of an RNN that read each other's states, or both sides of a Siamese network with co-attention.
"""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterator

from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.graph.joins import join_of
from legacy.saved.tower_search.batch_slices import DATA, SLICES
from legacy.saved.tower_search.towers import Towers
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors import gradient_names

#: Why devices are no towers that compute such paths.
PATHS = "they take each other's results, and one loss takes the rows of all of them together"


def are_joint_paths(graph: Graph, imported: ImportedGraph, towers: Towers, targets: Collection[str]) -> bool:
    """Returns whether candidates for towers are paths of one model for the same examples.

    They take each other's results, their only loss takes the results of several, row by row, and their data are no
    parts of one batch. Layers that have a share of the classes each may take all rows, too, of parts of a batch.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      towers: the candidate.
      targets: nodes that are differentiated.

    Returns:
      The answer.
    """
    own = {towers.labelled_tower_of(target) for target in targets} - {None}
    if not targets or len(own) > 1 or not _exchange(graph, towers):
        return False
    between = list(_between(graph, towers, targets, own))
    if not any(_joins_rows(graph, imported, towers, name) for name in between):
        return False
    return not _have_parts_of_a_batch(graph, towers)


def _exchange(graph: Graph, towers: Towers) -> bool:
    """Returns whether several towers compute forward with what others compute."""
    names = [name for name, mask in towers.masks.items() if mask and not gradient_names.is_gradient_op(name)]
    forward = graph.order(names)
    own = {name: 1 << tower for name in forward for tower in [towers.labelled_tower_of(name)] if tower is not None}
    arriving = graph.flow(forward, own, controls=False)
    return len({tower for name, tower in own.items() if arriving[name] & ~tower}) > 1


def _between(graph: Graph, towers: Towers, targets: Collection[str], own: Collection[int | None]) -> Iterator[str]:
    """Yields the nodes from a loss back to the towers, or through the tower that it is computed by.

    Args:
      graph: the subgraph that a step runs.
      towers: the candidate.
      targets: nodes that are differentiated.
      own: the towers that compute these.
    """
    passed = {None, *own}
    seen, todo = set(targets), list(targets)
    while todo:
        name = todo.pop()
        yield name
        before = {tensor.node for tensor in graph.inputs(name) if towers.masks.get(tensor.node, 0)} - seen
        before = {one for one in before if towers.labelled_tower_of(one) in passed}
        seen |= before
        todo += before


def _joins_rows(graph: Graph, imported: ImportedGraph, towers: Towers, name: str) -> bool:
    """Returns whether a node makes rows of the same rows of several towers' results.

    Rows of all towers below each other are those of a whole batch, and single numbers are losses.
    """
    taken = {tensor: towers.labelled_tower_of(tensor.node) for tensor in graph.inputs(name)}
    if len(set(taken.values()) - {None}) < 2 or graph.type(name) == "Pack":
        return False
    join = join_of(graph, name)
    if join is not None:
        axis = imported.constant(*join.axis)
        return axis is not None and int(axis) != 0
    shapes = [imported.shape(*tensor) for tensor, tower in taken.items() if tower is not None]
    return all(shape and shape[0] != 1 for shape in shapes)


def _have_parts_of_a_batch(graph: Graph, towers: Towers) -> bool:
    """Returns whether two towers take different parts of one tensor."""
    parts: dict[TensorId, dict[int, set[TensorId]]] = collections.defaultdict(dict)
    for tower in range(towers.count):
        for tensor in _data_of(graph, towers, tower):
            if graph.type(tensor.node) in SLICES and not _is_place(graph, tensor.node):
                whole = graph.inputs(tensor.node)[op_types.divided_input(graph.type(tensor.node))]
                parts[whole].setdefault(tower, set()).add(tensor)
    return any(len(by_tower) > 1 and not set.intersection(*by_tower.values()) for by_tower in parts.values())


def _data_of(graph: Graph, towers: Towers, tower: int) -> set[TensorId]:
    """Finds the tensors outside of the towers that a tower's data are computed from, and these data."""
    found: set[TensorId] = set()
    todo = [tensor for name in towers.masks if towers.tower_of(name) == tower for tensor in graph.inputs(name)]
    while todo:
        tensor = todo.pop()
        if tensor not in found and towers.masks.get(tensor.node, 0) == DATA:
            found.add(tensor)
            todo += graph.inputs(tensor.node)
    return found


def _is_place(graph: Graph, name: str) -> bool:
    """Returns whether a slice takes one place of all rows, as x[:, 0] does."""
    attributes = graph.nodes[name].attr
    if graph.type(name) == "Unpack":
        return attributes["axis"].i != 0
    is_index = graph.type(name) == "StridedSlice" and attributes["shrink_axis_mask"].i > 1
    return is_index and bool(attributes["begin_mask"].i & attributes["end_mask"].i & 1)
