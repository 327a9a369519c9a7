"""Static shapes of a step whose batches have one example more, also behind reshapes to constant sizes."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.graph.imported import without_placement
from workloads.lifted.graph import parse_tensor_name, tensor_name
from workloads.lifted.plan import Input

v1 = tf.compat.v1

#: More levels of reshapes than these are imported as one.
MOST_LEVELS = 64
#: {op: the position of a constant shape or of a number of copies, the first of which may be the number of examples}.
_SIZES = {"Fill": 0, "RandomStandardNormal": 0, "RandomUniform": 0, "TruncatedNormal": 0, "Tile": 1, "BroadcastTo": 1}
#: Name scope of what is imported at once; TensorFlow numbers them.
LEVEL = "level"


def known_with_another_batch(found: Analysis, own: Sequence[Input], needed: set[str], batch: int) -> set[str]:
    """Finds the nodes whose shapes are known where the towers' batches have one example more; none if that fails.

    The graph is imported level by level, each up to the next reshapes to a constant size: the shape that arrives at a
    reshape tells which of its numbers holds the examples.

    Args:
      found: the analysis.
      own: the inputs of which each tower has a batch.
      needed: the nodes of the losses.
      batch: the number of a tower's examples in the graph.

    Returns:
      The names of the nodes.
    """
    entries = {name: one for one in own for name in one.tensors}
    replaced = {parse_tensor_name(name).node for name in entries}
    nodes = _nodes(found, needed - replaced)
    try:
        with tf.Graph().as_default():
            known = {
                name: v1.placeholder(one.dtype, [batch + 1, *(one.shape or [])[1:]]) for name, one in entries.items()
            }
            for names in _levels(found, set(nodes), found.cut.graph.descendants(replaced, controls=False)):
                _import_level(found, [nodes[name] for name in names], known, batch)
    except (ValueError, tf.errors.OpError):
        return set()
    operations = {name: known[tensor_name(name, 0)].op for name in nodes if tensor_name(name, 0) in known}
    # What is computed from unknown rows, as of a loop, may take the rows of the other operand for its own.
    tensors = {name: [*one.inputs, *one.outputs] for name, one in operations.items()}
    return {name for name, all_of_it in tensors.items() if all(one.shape.is_fully_defined() for one in all_of_it)}


def _nodes(found: Analysis, names: set[str]) -> dict[str, tf.compat.v1.NodeDef]:
    """Copies of some nodes, without control inputs and recorded shapes."""
    nodes = {node.name: node for node in without_placement(found.cut.graph).node if node.name in names}
    for name, node in nodes.items():
        del node.input[len(found.cut.graph.inputs(name)) :]
        node.attr.pop("_output_shapes", None)
    return nodes


def _levels(found: Analysis, names: set[str], of_batch: set[str]) -> Iterable[list[str]]:
    """Groups nodes by the reshapes of batches to constant sizes that they wait for; all are one if there are loops."""
    graph = found.cut.graph
    levels: dict[str, int] = {}
    if any(graph.type(name) == "NextIteration" for name in names):
        return [list(names)]
    for name in graph.order(names):
        before = max((levels.get(tensor.node, 0) for tensor in graph.inputs(name)), default=0)
        levels[name] = before + (graph.type(name) == "Reshape" and name in of_batch)
    if max(levels.values(), default=0) > MOST_LEVELS:
        return [list(names)]
    grouped: dict[int, list[str]] = collections.defaultdict(list)
    for name, level in levels.items():
        grouped[level].append(name)
    return [grouped[level] for level in sorted(grouped)]


def _import_level(
    found: Analysis, nodes: Sequence[tf.compat.v1.NodeDef], known: dict[str, tf.Tensor], batch: int
) -> None:
    """Imports some nodes into the current graph.

    Args:
      found: the analysis.
      nodes: the nodes; what they take is among them, or known.
      known: {tensor: that of the current graph}; the results of the nodes are added.
      batch: the number of a tower's examples in the saved graph.
    """
    plain = v1.GraphDef()
    for node in nodes:
        plain.node.extend([*_resized(found, node, known, batch), node])
    used = {tensor_name(*parse_tensor_name(name)) for node in plain.node for name in node.input}
    made = tf.import_graph_def(
        plain,
        input_map={name: known[name] for name in known.keys() & used},
        return_elements=[node.name for node in nodes],
        name=LEVEL,  # of its own: TensorFlow renames a node whose name is the scope of one that is there already
    )
    for node, operation in zip(nodes, made):
        known.update({tensor_name(node.name, place): tensor for place, tensor in enumerate(operation.outputs)})


def _resized(
    found: Analysis, node: tf.compat.v1.NodeDef, known: Mapping[str, tf.Tensor], batch: int
) -> list[tf.compat.v1.NodeDef]:
    """Gives a node with a constant size that of one example more; returns the new constant, if there is one."""
    position = 1 if node.op == "Reshape" else _SIZES.get(node.op)
    size = None if position is None else found.context.imported.constant(*found.cut.graph.inputs(node.name)[position])
    if position is None or size is None or not size.size:
        return []
    numbers = size.tolist()
    if node.op == "Reshape":
        numbers = _size_of_reshape(found, node.name, known, batch) or numbers
    elif numbers[0] == batch:
        numbers[0] = batch + 1
    if numbers == size.tolist():
        return []
    larger = v1.NodeDef(name=f"{node.name}/size_of_another_batch", op="Const")
    larger.attr["dtype"].type = tf.as_dtype(size.dtype).as_datatype_enum
    larger.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(numbers, size.dtype))
    node.input[position] = larger.name
    return [larger]


def _size_of_reshape(found: Analysis, name: str, known: Mapping[str, tf.Tensor], batch: int) -> list[int]:
    """The size of a reshape to a constant size, with one example more; empty if a shape is not known."""
    graph, imported = found.cut.graph, found.context.imported
    old, result = imported.shape(*graph.inputs(name)[0]), imported.shape(name)
    arriving, size = known.get(tensor_name(*graph.inputs(name)[0])), imported.constant(*graph.inputs(name)[1])
    if size is None or not result or None in result or not old or None in old or arriving is None:
        return []
    numbers = size.tolist()
    new = arriving.shape.as_list() if arriving.shape.is_fully_defined() else []
    for axis, (before, after) in enumerate(zip(old, new)):
        place = _place_of_axis(old, result, axis, batch) if before != after else None
        if place is not None and numbers[place] >= 0:
            numbers[place] = numbers[place] // batch * (batch + 1)
    return numbers


def _place_of_axis(old: Sequence[int | None], result: Sequence[int | None], axis: int, batch: int) -> int | None:
    """The dimension of a reshaped tensor that holds the examples of one dimension of what is reshaped.

    Dimensions keep their order, so that those up to a place whose product is the same on both sides correspond.

    >>> _place_of_axis([4, 4, 3], [4, 12], 1, 4)
    1

    Args:
      old: the shape of what is reshaped.
      result: the shape of the result.
      axis: the dimension of `old` that holds examples.
      batch: the number of examples.

    Returns:
      The dimension, or None if there is none that the number of examples divides.
    """
    begin, end = _products(old)[axis], _products(old)[axis + 1]
    places = [
        place
        for place, size in enumerate(result)
        if size and size % batch == 0 and _products(result)[place] < end and _products(result)[place + 1] > begin
    ]
    is_last = bool(places) and _products(result)[places[-1] + 1] == end and old[axis] == batch
    return None if not places else places[-1] if is_last else places[0]


def _products(shape: Sequence[int | None]) -> list[int]:
    """The products of a shape's first dimensions, from none of them to all."""
    return [1, *np.cumprod([size or 1 for size in shape]).tolist()]
