"""Recognises the parts of sparse tensors among the inputs: indices, values and shape that belong together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.made_up_data import INDICES, SHAPE, VALUES

#: Arguments of ops, and placeholders, that take a part of a sparse tensor: "a_indices", "input/values", "dense_shape".
_PART = re.compile(r"^(?:(.*?)[_/])?(?:dense_)?(indices|values|shape)$")

#: Op types that take the parts of one sparse tensor under names that do not begin alike.
_OF_ONE = ("SparseToDense",)


def sparse_parts(graph: Graph, imported: ImportedGraph, tensors: Sequence[TensorId]) -> dict[TensorId, str]:
    """Returns {tensor: "NAME/indices", "NAME/values" or "NAME/shape"} of the tensors that sparse tensors consist of.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      tensors: tensors that bring data in, of one tower.

    Returns:
      Parts by the names that `tf.sparse_placeholder` gives, or by the arguments of an op that takes them together.
    """
    found: dict[TensorId, str] = {}
    for group in [*_named_groups(graph, tensors), *_taken_together(graph, imported, tensors)]:
        name = group[INDICES].node.rpartition("/")[0] or group[INDICES].node
        for part, tensor in group.items():
            found.setdefault(tensor, f"{name}/{part}")
    for tensor in [one for one in tensors if one not in found and _is_values_alone(graph, one)]:
        indices = _met_first(graph, tensor, [one for one, part in found.items() if part.endswith(f"/{INDICES}")])
        if indices is not None:
            found[tensor] = f"{found[indices].rpartition('/')[0]}/{VALUES}"
    return found


def _is_values_alone(graph: Graph, tensor: TensorId) -> bool:
    """Whether a tensor is the values of a sparse placeholder, whose indices the step does not use."""
    match = _PART.match(tensor.node)
    return bool(match and match.group(1) and match.group(2) == VALUES) and graph.type(tensor.node) == "Placeholder"


def _met_first(graph: Graph, values: TensorId, indices: Sequence[TensorId]) -> TensorId | None:
    """Returns those of some indices that the first op takes which depends on values: these have the same indices.

    Weights of a lookup, as in `embedding_lookup_sparse(table, ids, weights)`, may be a sparse placeholder of their own.
    """
    after = graph.descendants([values.node], controls=False)
    firsts = {
        one: next((place for place, name in enumerate(graph.nodes) if name in both), None)
        for one in indices
        for both in [after & graph.descendants([one.node], controls=False)]
    }
    found = [(place, one) for one, place in firsts.items() if place is not None]
    return min(found)[1] if found else None


def _named_groups(graph: Graph, tensors: Sequence[TensorId]) -> Iterator[dict[str, TensorId]]:
    """Yields {part: placeholder} of the placeholders that are named as the parts of one sparse placeholder."""
    groups: dict[str, dict[str, TensorId]] = {}
    for tensor in tensors:
        match = _PART.match(tensor.node)
        if match and match.group(1) and graph.type(tensor.node) == "Placeholder":
            groups.setdefault(match.group(1), {})[match.group(2)] = tensor
    yield from (group for group in groups.values() if {INDICES, VALUES} <= set(group) or {INDICES, SHAPE} <= set(group))


def _taken_together(
    graph: Graph, imported: ImportedGraph, tensors: Sequence[TensorId]
) -> Iterator[dict[str, TensorId]]:
    """Yields {part: tensor} of the tensors that one op takes as the parts of a sparse tensor."""
    wanted = set(tensors)
    for user in dict.fromkeys(use.node for tensor in tensors for use in graph.users(tensor.node)):
        groups: dict[str, dict[str, TensorId]] = {}
        for (argument, number), tensor in zip(_arguments(graph, imported, user), graph.inputs(user)):
            match = _PART.match(argument)
            if match and graph.origin(tensor) in wanted:
                owner = "" if graph.type(user) in _OF_ONE else (match.group(1) or "") + number
                groups.setdefault(owner, {})[match.group(2)] = graph.origin(tensor)
        yield from (group for group in groups.values() if {INDICES, VALUES} <= set(group))


def _arguments(graph: Graph, imported: ImportedGraph, node: str) -> Iterator[tuple[str, str]]:
    """Yields (argument's name, number) of each input of an op: the number in the list of an argument that is one."""
    attributes = graph.nodes[node].attr
    for argument in imported.definition(node).input_arg:
        if argument.number_attr:
            count = attributes[argument.number_attr].i
        elif argument.type_list_attr:
            count = len(attributes[argument.type_list_attr].list.type)
        else:
            yield argument.name, ""
            continue
        yield from ((argument.name, str(number)) for number in range(count))


def shape_of_part(sparse: str) -> tuple[int | None, ...]:
    """Returns the shape that a part of a sparse tensor has by its meaning, for a placeholder that was given none.

    >>> shape_of_part("words/indices"), shape_of_part("words/values")
    ((None, None), (None,))
    """
    return (None, None) if sparse.endswith(f"/{INDICES}") else (None,)
