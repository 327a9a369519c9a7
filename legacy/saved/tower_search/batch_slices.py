"""Nodes inside towers that take each tower's part of a common batch.

Such a node is labelled as its tower's, but its input is every tower's. So it belongs to the input pipeline: the
tower starts behind it.
"""

from __future__ import annotations

import collections
from collections.abc import Collection, Hashable, Mapping
from typing import Tuple

from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.inputs.row_stacks import stacks_of
from workloads.lifted.graph import Graph, TensorId

#: The bit of a node's mask that says that it depends on data or random numbers; see `towers.Towers`.
DATA = 1
#: Ops with one output for each part of their input.
SPLITS = ("Split", "SplitV", "Unpack")
#: Ops that take a part of a batch.
SLICES = SPLITS + ("Slice", "StridedSlice", "Gather", "GatherV2")

#: Ops that compute the places of a part, of numbers without attributes of their own.
_OF_PLACES = ("Pack", "Mul", "Add", "AddV2", "Sub", "FloorDiv")
_SHAPES = ("Shape", "Size", "Rank")
#: The part that a node takes: its op type with the outputs in use, or with its other inputs.
Part = Tuple[Hashable, ...]


def batch_slices(
    graph: Graph,
    imported: ImportedGraph,
    masks: Mapping[str, int],
    labels: Mapping[str, int],
    known: Collection[str],
    model: Collection[str] = (),
) -> set[str]:
    """Returns the labelled nodes that take a tower's part of what all towers share.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      masks: {node: bit set} as in `towers.Towers`, with the nodes in `known` outside of the towers.
      labels: {node: tower number}.
      known: slices found before; they are left out.
      model: nodes that depend on weights.

    Returns:
      Names of the slices, and of what each tower computes of the whole batch before it takes its part. No two towers
      may take the same part: then it is not a split batch.
    """
    candidates = {name for name in labels if name not in known}
    found = {name for name in masks if name in candidates and _serves_several_towers(graph, masks, labels, name)}
    for name, mask in masks.items():
        if mask == DATA:
            found |= _slices_of(graph, imported, name, labels, candidates)
            found |= stacks_of(graph, imported, name, labels, candidates)
    return found or _slices_of_prepared(graph, imported, masks, labels, candidates, model)


def _slices_of(
    graph: Graph, imported: ImportedGraph, name: str, labels: Mapping[str, int], candidates: Collection[str]
) -> set[str]:
    """Returns the users of a node's outputs, where those are slices and take different parts in every tower."""
    users = [use for use in graph.users(name) if use.node in candidates]
    if len(users) < 2:
        return set()
    parts: dict[int, dict[int, dict[str, Part | None]]] = collections.defaultdict(lambda: collections.defaultdict(dict))
    for user, position, output in users:
        if graph.type(user) not in _SHAPES:
            parts[output][labels[user]][user] = _part(graph, imported, user, position)
    return {
        user for by_tower in parts.values() if _are_different(by_tower) for users in by_tower.values() for user in users
    }


def _are_different(by_tower: Mapping[int, Mapping[str, Part | None]]) -> bool:
    """Returns whether several towers take parts of one tensor, and no two the same; {tower: {node: its part}}."""
    taken = [part for users in by_tower.values() for part in set(users.values())]
    return len(by_tower) >= 2 and None not in taken and len(taken) == len(set(taken))


def _slices_of_prepared(
    graph: Graph,
    imported: ImportedGraph,
    masks: Mapping[str, int],
    labels: Mapping[str, int],
    candidates: Collection[str],
    model: Collection[str],
) -> set[str]:
    """Returns slices of what towers compute alike of the whole batch, as of one-hot labels, with the ops that do.

    Args:
      graph, imported, masks, labels: see `batch_slices`.
      candidates: nodes that may be such.
      model: nodes that depend on weights, which prepare no data.
    """
    wholes: dict[str, TensorId] = {}
    for name in [name for name in candidates if graph.type(name) in SLICES and name not in model]:
        whole = graph.inputs(name)[op_types.divided_input(graph.type(name))]
        if whole.node not in model and masks.get(whole.node, 0) >> 1 == 1 << labels[name]:
            wholes[name] = whole
    made = _made_alike(graph, masks, labels, model, {whole.node for whole in wholes.values()})
    parts: dict[Hashable, dict[int, dict[str, Part | None]]] = collections.defaultdict(dict)
    for name, whole in wholes.items():
        own = parts[made.get(whole.node, whole.node), whole.output].setdefault(labels[name], {})
        own[name] = _part(graph, imported, name, op_types.divided_input(graph.type(name)))
    dealt = [
        name for by_tower in parts.values() if _are_different(by_tower) for own in by_tower.values() for name in own
    ]
    before = [name for name in graph.ancestors(dealt, controls=False) if name in candidates and graph.inputs(name)]
    return {name for name in before if masks.get(name, 0) >> 1}


def _made_alike(
    graph: Graph,
    masks: Mapping[str, int],
    labels: Mapping[str, int],
    model: Collection[str],
    ends: Collection[str],
) -> dict[str, int]:
    """Returns {node: number}, equal for nodes of towers that compute the same, up to what belongs to no tower.

    Args:
      graph, masks, labels, model: see `batch_slices`.
      ends: nodes that are asked about. What depends on weights or random numbers is like no other node.
    """
    numbers: dict[Hashable, int] = {}
    found: dict[str, int] = {}
    before = graph.ancestors(ends, controls=False)
    for name in [name for name in graph.order(before) if name in labels and masks.get(name, 0) != DATA]:
        if name not in model and not op_types.is_random(graph.type(name)):
            inputs = [(found.get(tensor.node, tensor.node), tensor.output) for tensor in graph.inputs(name)]
            attributes = graph.nodes[name].attr.items()
            own = sorted((key, value.SerializeToString()) for key, value in attributes if key[0] != "_")
            found[name] = numbers.setdefault((graph.type(name), *inputs, *own), len(numbers))
    return found


def _serves_several_towers(graph: Graph, masks: Mapping[str, int], labels: Mapping[str, int], name: str) -> bool:
    """Returns whether a node splits a common batch for several towers, though its label is that of one."""
    if graph.type(name) not in SPLITS:
        return False
    if not any(masks.get(producer) == DATA for producer, _ in graph.inputs(name)):
        return False
    return len({labels[user] for user, _, _ in graph.users(name) if user in labels}) >= 2


def _computes_with_index(graph: Graph, user: str) -> bool:
    """Returns whether the indices of a gather enter other ops than those that take rows or sizes."""
    index = graph.inputs(user)[1]
    copies = {user}
    while graph.type(index.node) in op_types.COPIES and graph.inputs(index.node):
        copies.add(index.node)
        index = graph.inputs(index.node)[0]
    others = {use.node for use in graph.users(index.node) if use.output == index.output} - copies
    return any(graph.type(name) not in (*SLICES, *_SHAPES) for name in others)


def _part(graph: Graph, imported: ImportedGraph, user: str, position: int) -> Part | None:
    """Returns the part of its input number `position` that a node takes; None if it is no slice.

    Another index than a constant counts as different from every other, but for places that are computed alike. Where
    the tower computes with the index besides, it is data, such as the labels whose weights are looked up, and what is
    looked up is no part of a batch.
    """
    op_type = graph.type(user)
    if op_type not in SLICES or (op_type in op_types.GATHERS and _computes_with_index(graph, user)):
        return None
    if op_type in SPLITS:
        return (op_type,) + tuple(sorted({output for _, _, output in graph.users(user)}))
    others = [tensor for i, tensor in enumerate(graph.inputs(user)) if i != position]
    made_of = [_made_of(graph, imported, tensor) for tensor in others]
    return (op_type,) + tuple(user if isinstance(made, TensorId) else made for made in made_of)


def _made_of(graph: Graph, imported: ImportedGraph, tensor: TensorId) -> Hashable:
    """Returns what places are computed from, equal where that is: k * size of a constant k and a fed size.

    It is the text of a constant, an op with what its inputs are made of, or else the tensor itself.
    """
    value = imported.constant(*tensor)
    if value is not None:
        return repr(value.tolist())
    if graph.type(tensor.node) not in _OF_PLACES:
        return tensor
    inputs = [_made_of(graph, imported, before) for before in graph.inputs(tensor.node)]
    return (graph.type(tensor.node), *(tuple(made) if isinstance(made, TensorId) else made for made in inputs))
