"""Lookups of trained rows that are run once for all towers, before the batch is split: each tower looks up its own.

A program may look up the words of the whole batch, as on the CPU, and split the result for its towers. The data of a
lift begin at the parts, and so behind such a lookup. Splitting the indices first gives each tower the same rows:
`part(lookup(indices)) == lookup(part(indices))`. In the gradient of a tower, `tf.gradients` fills up the rows of the
other towers with zeros, which change nothing where one update takes the gradients of all towers together.
"""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterable, Iterator
from typing import Dict, List, NamedTuple

import tensorflow as tf

from legacy.saved.graph import op_types
from legacy.saved.graph.assignments import written_variables
from workloads.lifted.graph import Graph, TensorId, input_text
from workloads.lifted.graph.tensor_names import forget_placement
from workloads.lifted.tensors.gradient_names import forward_name, is_gradient_op
from workloads.support.wording import listed

v1 = tf.compat.v1
#: {op that takes parts of a tensor: number of the input that it takes them of}; and numbers of a split's dimension.
PARTED, DIMENSIONS = {"Split": 1, "SplitV": 0, "StridedSlice": 0}, {"Split": 0, "SplitV": 2}
#: Of the lookups, so many are listed.
MOST_LISTED = 3
#: Ops that give zeros; and joins, the derivatives of splits.
ZEROS, JOINS = ("ZerosLike", "Fill", "Const"), ("Concat", "ConcatV2")
#: Masks of a slice that give its result other dimensions.
_MASKS = ("shrink_axis_mask", "new_axis_mask", "ellipsis_mask")


class Lookup(NamedTuple):
    """A lookup of rows for all towers.

    Attributes:
      name: the op that looks up.
      indices: the rows of all towers.
      splits: the ops that take the towers' parts of its result.
      gradients: its gradients, one in each tower.
    """

    name: str
    indices: TensorId
    splits: List[str]
    gradients: List[LookupGradient]


class LookupGradient(NamedTuple):
    """The gradient of a lookup in one tower's gradient graph.

    Attributes:
      values: the `Reshape` that gives a row for each index.
      rows: the `Reshape` that gives the indices.
      number: the `ExpandDims` of the number of indices, which both take.
      derivative: the derivative by the tower's own part.
      part: that part, an output of a split.
    """

    values: str
    rows: str
    number: str
    derivative: TensorId
    part: TensorId


def early_lookups(graph: Graph, trained: Collection[str]) -> Iterator[Lookup]:
    """Yields the lookups of trained rows for all towers that each tower can make for itself.

    Args:
      graph: the subgraph that a step runs.
      trained: names of the variables that it trains.
    """
    forward = [name for name in graph.nodes if graph.type(name) in op_types.LOOKUPS and not is_gradient_op(name)]
    candidates = {name: _splits(graph, name) for name in forward}
    if not any(candidates.values()):
        return
    conditional = graph.frames() | graph.branches()
    written = collections.Counter(written_variables(graph).values())
    for name, splits in candidates.items():
        table, indices = graph.origin(graph.inputs(name)[0]).node, graph.inputs(name)[1]
        gradients = _gradients(graph, name, indices, splits) if table in trained and name not in conditional else []
        is_own = len({gradient.part for gradient in gradients}) == len(gradients) > 1
        is_of_data = not graph.ancestors([indices.node], controls=False) & set(trained)
        # Several updates of a table are of one tower each, and may change also rows with a gradient of 0.
        if is_own and is_of_data and written[table] == 1 and _is_by_first_dimension(graph, name):
            yield Lookup(name, indices, splits, gradients)


def with_own_lookups(graph: Graph, lookups: Iterable[Lookup]) -> Graph:
    """Returns a graph in which each tower looks up its own rows, in place of lookups for all towers.

    Args:
      graph: the subgraph that a step runs.
      lookups: those that `early_lookups` yields for it.
    """
    result = v1.GraphDef()
    result.CopyFrom(graph.graph_def)
    nodes = {node.name: node for node in result.node}
    for lookup in lookups:
        indices: Dict[TensorId, TensorId] = {}
        for split in lookup.splits:
            name = _split_indices(graph, lookup, split, result)
            for part, users in _users_by_part(graph, split).items():
                indices[part] = TensorId(name, part.output)
                own = _own_lookup(graph, lookup, indices[part], users, result)
                for user, position in users:
                    nodes[user].input[position] = own
        for gradient in lookup.gradients:
            _take_own_rows(nodes, gradient, indices[gradient.part], result)
    return Graph(result)


def note_on_lookups(lookups: Iterable[Lookup]) -> str:
    """Returns a sentence on some lookups; "" for none.

    >>> note_on_lookups([Lookup("embedding_lookup", TensorId("words", 0), ["split"], [])])
    'embedding_lookup looks up the rows of all towers at once; in a lift, each tower looks up its own'
    """
    names = [lookup.name for lookup in lookups]
    if not names:
        return ""
    verb = "looks" if len(names) == 1 else "look"
    return (
        f"{listed(names, MOST_LISTED)} {verb} up the rows of all towers at once; in a lift, each tower looks up its own"
    )


def _is_by_first_dimension(graph: Graph, name: str) -> bool:
    """Whether a lookup takes rows along the first dimension of its table."""
    return graph.type(name) != "GatherV2" or _integer(graph, graph.inputs(name)[2]) == 0


def _integer(graph: Graph, tensor: TensorId) -> int | None:
    """The value of a constant integer; None of any other tensor."""
    node = graph.nodes[graph.origin(tensor).node]
    values = tf.make_ndarray(node.attr["value"].tensor) if node.op == "Const" else None
    return int(values.ravel()[0]) if values is not None and values.size == 1 else None


def _takes_rows(graph: Graph, name: str) -> bool:
    """Whether a node takes parts along the first dimension, by arguments that say nothing of other dimensions."""
    kind, inputs = graph.type(name), graph.inputs(name)
    if kind in DIMENSIONS:
        return _integer(graph, inputs[DIMENSIONS[kind]]) == 0
    masks = graph.nodes[name].attr
    return kind == "StridedSlice" and _integer(graph, inputs[3]) == 1 and not any(masks[mask].i for mask in _MASKS)


def _splits(graph: Graph, lookup: str) -> list[str]:
    """The splits along the first dimension of a lookup's result; none if it has other uses in the forward pass."""
    found, todo = [], [lookup]
    while todo:
        for user in [use.node for use in graph.users(todo.pop())]:
            kind = graph.type(user)
            if is_gradient_op(user) or kind in op_types.SHAPE_OPS:
                continue
            if kind == "Identity":
                todo.append(user)
            elif _takes_rows(graph, user):
                found.append(user)
            else:
                return []
    return found


def _gradients(graph: Graph, lookup: str, indices: TensorId, splits: Collection[str]) -> list[LookupGradient]:
    """The gradients of a lookup; none if one of them is not the derivative by a single part."""
    found = []
    for name in (name for name in graph.nodes if is_gradient_op(name) and graph.type(name) == "Reshape"):
        scope = name.rpartition("/")[0] + "/"
        if forward_name(name, graph.nodes) != lookup or graph.inputs(name)[0] == indices:
            continue
        join = graph.origin(graph.inputs(name)[0]).node
        own = _own_part(graph, join, splits)
        counts = graph.ancestors([graph.inputs(name)[1].node], controls=False)
        rows = [
            user.node
            for user in graph.users(indices.node)
            if user.node.startswith(scope) and graph.type(user.node) == "Reshape"
        ]
        count = graph.inputs(rows[0])[1].node if len(rows) == 1 else ""
        if own is None or count not in counts or graph.type(count) != "ExpandDims":
            return []
        found.append(LookupGradient(name, rows[0], count, *own))
    return found


def _own_part(graph: Graph, join: str, splits: Collection[str]) -> tuple[TensorId, TensorId] | None:
    """(derivative, part) of the derivative of a split that is zero but for one part; None of any other node."""
    split = forward_name(join, graph.nodes)
    if split is None or split not in splits:
        return None
    if graph.type(join) == "StridedSliceGrad":
        return graph.inputs(join)[4], TensorId(split, 0)
    if graph.type(join) not in JOINS:
        return None
    inputs = graph.inputs(join)[1:] if graph.type(join) == "Concat" else graph.inputs(join)[:-1]
    own = [(number, tensor) for number, tensor in enumerate(inputs) if not _is_zeros(graph, tensor)]
    return (own[0][1], TensorId(split, own[0][0])) if len(own) == 1 else None


def _is_zeros(graph: Graph, tensor: TensorId) -> bool:
    """Whether a tensor is what `tf.gradients` takes for the derivative by a part that the loss does not depend on."""
    return graph.type(tensor.node) in ZEROS and "zeros" in tensor.node.rpartition("/")[2]


def _users_by_part(graph: Graph, split: str) -> dict[TensorId, list[tuple[str, int]]]:
    """{output of a split: (node, number of its input) of all that take it}."""
    found: dict[TensorId, list[tuple[str, int]]] = {}
    for user in dict.fromkeys(use.node for use in graph.users(split)):
        for position, tensor in enumerate(graph.inputs(user)):
            if tensor.node == split:
                found.setdefault(tensor, []).append((user, position))
    return found


def _split_indices(graph: Graph, lookup: Lookup, split: str, result: tf.compat.v1.GraphDef) -> str:
    """Adds a split of a lookup's indices, like that of its result; returns its name."""
    node = _copy(graph, split, f"{split}/of_indices", result)
    node.input[PARTED[node.op]] = input_text(lookup.indices)
    node.attr["T"].type = graph.nodes[lookup.name].attr["Tindices"].type
    return node.name


def _own_lookup(
    graph: Graph,
    lookup: Lookup,
    indices: TensorId,
    users: Iterable[tuple[str, int]],
    result: tf.compat.v1.GraphDef,
) -> str:
    """Adds the lookup of one part of the indices, on the device where it is used first; returns its name."""
    node = _copy(graph, lookup.name, f"{lookup.name}/of_part_{indices.output}_of_{indices.node}", result)
    node.device = graph.nodes[next(user for user, _ in users)].device
    node.input[1] = input_text(indices)
    return node.name


def _take_own_rows(
    nodes: dict[str, tf.compat.v1.NodeDef],
    gradient: LookupGradient,
    indices: TensorId,
    result: tf.compat.v1.GraphDef,
) -> None:
    """Gives a lookup's gradient the derivative by the tower's own rows, their indices and their number."""
    size = result.node.add(name=f"{gradient.number}/of_part", op="Size", input=[input_text(indices)])
    size.device = nodes[gradient.rows].device
    size.attr["T"].type = nodes[gradient.rows].attr["T"].type
    size.attr["out_type"].type = nodes[gradient.number].attr["T"].type
    nodes[gradient.number].input[0] = size.name
    nodes[gradient.values].input[0] = input_text(gradient.derivative)
    nodes[gradient.rows].input[0] = input_text(indices)


def _copy(graph: Graph, name: str, copied: str, result: tf.compat.v1.GraphDef) -> tf.compat.v1.NodeDef:
    """Adds a copy of a node under another name, without its device; returns it."""
    node = result.node.add()
    node.CopyFrom(graph.nodes[name])
    forget_placement(node)
    node.name = copied
    return node
