"""Lookups of trained rows that are run once for all towers, before the batch is split: each tower looks up its own.

A program may look up the words of the whole batch, as on the CPU, and split the result for its towers. The data of a
lift begin at the parts, and so behind such a lookup. Splitting the indices first gives each tower the same rows:
`part(lookup(indices)) == lookup(part(indices))`. In the gradient of a tower, `tf.gradients` fills up the rows of the
other towers with zeros, which change nothing where one update takes the gradients of all towers together.
"""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterable, Iterator
from typing import List, NamedTuple

from legacy.saved.analysis.division.places import keeps_dimensions, known_places, mask_of
from legacy.saved.graph import op_types
from legacy.saved.graph.assignments import written_variables
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors.gradient_names import forward_name, is_gradient_op
from workloads.support.wording import FEW, listed

#: {op that splits along a dimension: number of the input that has the dimension}.
DIMENSIONS = {"Split": 0, "SplitV": 2}
#: Ops that give zeros; and joins, the derivatives of splits.
ZEROS = ("ZerosLike", "Fill", "Const")


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
    forward = [name for name in graph.of_types(*op_types.LOOKUPS) if not is_gradient_op(name)]
    candidates = {name: _splits(graph, name) for name in forward}  # most lookups have none
    if not any(candidates.values()):
        return
    conditional = graph.frames() | graph.branches()
    written = collections.Counter(written_variables(graph).values())
    for name, splits in candidates.items():
        table, indices = graph.inputs(name)[:2]
        weights = _weights_alone(graph, table.node, trained)
        gradients = _gradients(graph, name, indices, splits) if weights and name not in conditional else []
        is_own = len({gradient.part for gradient in gradients}) == len(gradients) > 1
        is_of_data = not graph.ancestors([indices.node], controls=False) & set(trained)
        # Several updates of a weight are of one tower each, and may change also rows with a gradient of 0.
        is_updated_once = all(written[weight] == 1 for weight in weights)
        if is_own and is_of_data and is_updated_once and _is_by_first_dimension(graph, name):
            yield Lookup(name, indices, splits, gradients)


def note_on_lookups(lookups: Iterable[Lookup]) -> str:
    """Returns a sentence on some lookups; "" for none.

    >>> note_on_lookups([Lookup("embedding_lookup", TensorId("words", 0), ["split"], [])])
    'embedding_lookup looks up the rows of all towers at once; in a lift, each tower looks up its own'
    """
    names = [lookup.name for lookup in lookups]
    if not names:
        return ""
    verb = "looks" if len(names) == 1 else "look"
    return f"{listed(names, FEW)} {verb} up the rows of all towers at once; in a lift, each tower looks up its own"


def _weights_alone(graph: Graph, table: str, trained: Collection[str]) -> set[str]:
    """The trained variables that a table is made of, as of several parts; none if it depends on data, too."""
    before = graph.ancestors([table], controls=False)
    is_of_data = any(op_types.is_source(graph.type(name)) for name in before)
    return set() if is_of_data else before & set(trained)


def _is_by_first_dimension(graph: Graph, name: str) -> bool:
    """Whether a lookup takes rows along the first dimension of its table."""
    return graph.type(name) != "GatherV2" or known_places(graph, graph.inputs(name)[2]) == [0]


def _takes_rows(graph: Graph, name: str, indices: TensorId) -> bool:
    """Whether a node takes parts along the first dimensions, those that the indices of a lookup have, too."""
    kind, inputs = graph.type(name), graph.inputs(name)
    if kind in DIMENSIONS:
        return known_places(graph, inputs[DIMENSIONS[kind]]) == [0]
    if kind != "StridedSlice" or not keeps_dimensions(graph.nodes[name]):
        return False
    strides, rank = known_places(graph, inputs[3]), max(1, rank_of(graph, indices))
    return bool(strides) and all(_is_whole(graph, name, axis, strides[axis]) for axis in range(rank, len(strides)))


def _is_whole(graph: Graph, name: str, axis: int, stride: int | None) -> bool:
    """Whether a slice takes all of a dimension."""
    masks = [mask_of(graph.nodes[name], mask) >> axis & 1 for mask in ("begin_mask", "end_mask")]
    return all(masks) and stride == 1


def rank_of(graph: Graph, tensor: TensorId) -> int:
    """Returns the number of dimensions of a placeholder; 0 of any other tensor, or where it is not known."""
    node = graph.nodes[tensor.node]
    return len(node.attr["shape"].shape.dim) if node.op == "Placeholder" and "shape" in node.attr else 0


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
            elif _takes_rows(graph, user, graph.inputs(lookup)[1]):
                found.append(user)
            else:
                return []
    return found


def _gradients(graph: Graph, lookup: str, indices: TensorId, splits: Collection[str]) -> list[LookupGradient]:
    """The gradients of a lookup; none if one of them is not the derivative by a single part."""
    found = []
    for name in (name for name in graph.of_types("Reshape") if is_gradient_op(name)):
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
    if graph.type(join) not in op_types.JOINS:
        return None
    inputs = graph.inputs(join)[1:] if graph.type(join) == "Concat" else graph.inputs(join)[:-1]
    own = [(number, tensor) for number, tensor in enumerate(inputs) if not _is_zeros(graph, tensor)]
    return (own[0][1], TensorId(split, own[0][0])) if len(own) == 1 else None


def _is_zeros(graph: Graph, tensor: TensorId) -> bool:
    """Whether a tensor is what `tf.gradients` takes for the derivative by a part that the loss does not depend on."""
    return graph.type(tensor.node) in ZEROS and "zeros" in tensor.node.rpartition("/")[2]
