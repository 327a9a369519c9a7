"""Bounds of integers, and of floats that stand for some: classes, rows of indices, lengths that end a loop."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from legacy.saved.folding.decided import COMPARISONS
from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.graph.loops import frames_entered
from legacy.saved.inputs.integer_uses import PASSES, uses_of_integers
from workloads.lifted.graph import ENTERS, MERGES, Graph, TensorId

#: Ops by which `tf.nn.embedding_lookup` computes the part of a table, and the row there, from the row of the whole.
_OF_PARTS = [*PASSES, "FloorDiv", "FloorMod", "Maximum", "Select", "SelectV2", "Sub"]

#: {op type: (position of the input with integers, dimension of input 0 that they stay below)}.
_BOUNDED = {
    "SparseSoftmaxCrossEntropyWithLogits": (1, -1),
    "Gather": (1, 0),
    "GatherV2": (1, 0),
}

#: Of `CTCLoss`, {position of an input: (dimension of the logits [time, batch, classes], what is added for its bound)}:
#: labels stay below the last class, which is the blank, and lengths reach the number of times.
_OF_CTC = {2: (-1, -1), 3: (0, 1)}

#: Ops that tell different numbers of classes apart, and how many classes made-up ones are of.
_COUNTS, CLASSES = ("Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2"), 2

#: Ops by which a loop's body compares its counter with the lengths of sequences.
LOOP_COMPARISONS = op_types.ORDERINGS


def upper_bound(graph: Graph, imported: ImportedGraph, tensor: TensorId) -> int:
    """Returns the number that the integers of a tensor must stay below, as far as its users tell.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      tensor: integers.

    Returns:
      The lowest bound of all ops that take them as class labels, as rows of a table or as lengths of sequences,
      directly or rearranged; 0 if there is none.
    """
    bounds: list[int] = []
    columns: list[int] = []  # of a sparse matrix, whose indices are rows and columns
    for user, position in uses_of_integers(graph, imported, tensor):
        bound = _bound(graph, imported, user, position)
        if bound:
            (columns if graph.type(user) == "SparseTensorDenseMatMul" else bounds).append(bound)
    bounds += _rows_of_parts(graph, imported, tensor)
    return min(columns or bounds or [0])


def class_limit(graph: Graph, imported: ImportedGraph, tensor: TensorId) -> int:
    """Returns the number that the floats of a tensor must stay below if they are numbers of classes, as in a label map.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      tensor: floats.

    Returns:
      The bound of the ops that take them, cast to integers, as labels or rows; `CLASSES` if there is none and an op
      counts the different ones; 0 if they are no numbers of classes.
    """
    limit = upper_bound(graph, imported, tensor)
    is_counted = any(graph.type(user) in _COUNTS for user, _ in uses_of_integers(graph, imported, tensor))
    return limit or (CLASSES if is_counted else 0)


def least_mark(graph: Graph, imported: ImportedGraph, tensor: TensorId) -> int:
    """Returns the least negative constant that integers are compared with, as a label of what is ignored.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      tensor: integers.

    Returns:
      The number; 0 if there is none, or if an op takes the integers as classes or rows, which are not negative.
    """
    marks = [0]
    for user, position in uses_of_integers(graph, imported, tensor):
        if graph.type(user) in COMPARISONS:
            constant = imported.constant(*graph.inputs(user)[1 - position])
            if constant is not None and not np.ndim(constant) and -(1 << 31) <= constant < 0:
                marks.append(int(constant))
    return 0 if upper_bound(graph, imported, tensor) else min(marks)


def _rows_of_parts(graph: Graph, imported: ImportedGraph, tensor: TensorId) -> Iterator[int]:
    """Yields the number of rows of each table in parts, of which integers choose a part and a row there."""
    for partition, position in uses_of_integers(graph, imported, tensor, _OF_PARTS):
        if graph.type(partition) == "DynamicPartition" and position == 0:
            rows: dict[int, int] = {}
            for user, place, output in graph.users(partition):
                rows[output] = rows.get(output, 0) or _bound(graph, imported, user, place) or 0
            if len(rows) == imported.outputs(partition) and all(rows.values()):
                yield sum(rows.values())


def _bound(graph: Graph, imported: ImportedGraph, user: str, position: int) -> int | None:
    """Returns the bound that one use sets on its input number `position`; None or 0 if it sets none."""
    op_type, inputs = graph.type(user), graph.inputs(user)
    if op_type in LOOP_COMPARISONS and user in graph.frames():
        return _most_iterations(graph, imported, user)
    if (op_type, position) == ("ResourceGather", 1):
        return _variable_rows(graph, inputs[0].node)
    if (op_type, position) == ("SparseTensorDenseMatMul", 0):
        return _columns_of_sparse(graph, imported, user)
    if (op_type, position) == ("OneHot", 0):
        depth = imported.constant(*inputs[1])
        return None if depth is None else int(depth)
    if op_type == "CTCLoss" and position in _OF_CTC:
        dimension, more = _OF_CTC[position]
        size = _size(imported, inputs[0], dimension)
        return None if size is None else size + more
    if (op_type, position) == ("ReverseSequence", 1):
        return _size(imported, inputs[0], graph.nodes[user].attr["seq_dim"].i)
    if op_type in _BOUNDED and position == _BOUNDED[op_type][0]:
        dimension = _BOUNDED[op_type][1]
        size = _size(imported, inputs[0], dimension)
        return _kept_size(graph, imported, inputs[0].node) if size is None and dimension == -1 else size
    return None


def _size(imported: ImportedGraph, tensor: TensorId, dimension: int) -> int | None:
    """The size of one dimension of a tensor; None if it is not known."""
    shape = imported.shape(*tensor)
    return shape[dimension] if shape else None


def _columns_of_sparse(graph: Graph, imported: ImportedGraph, product: str) -> int | None:
    """The number of columns of a sparse matrix that is multiplied by a dense one, whose rows are as many."""
    attributes = graph.nodes[product].attr
    if attributes["adjoint_a"].b:
        return None
    return _size(imported, graph.inputs(product)[3], 1 if attributes["adjoint_b"].b else 0)


def _kept_size(graph: Graph, imported: ImportedGraph, name: str) -> int | None:
    """Returns the last dimension that a node keeps of what it flattens, as 1.x does with the logits of sequences.

    It reshapes `x` to `[-1, tf.shape(x)[rank - 1]]`, whose size no static shape tells.
    """
    if graph.type(name) != "Reshape":
        return None
    before, target = graph.inputs(name)
    sizes = graph.inputs(target.node) if graph.type(target.node) == "Pack" else []
    part = sizes[-1].node if sizes else ""
    shape = imported.shape(*before)
    if not shape or len(sizes) != 2 or graph.type(part) != "StridedSlice":
        return None
    whole, place = graph.inputs(part)[:2]
    is_own = graph.type(whole.node) == "Shape" and graph.inputs(whole.node)[0] == before
    return shape[-1] if is_own and _number(graph, imported, place) in (len(shape) - 1, -1) else None


def _number(graph: Graph, imported: ImportedGraph, tensor: TensorId) -> int | None:
    """Returns the one number that a tensor holds, also as a difference of constants; None of any other tensor."""
    inputs = graph.inputs(tensor.node)
    if graph.type(tensor.node) == "Pack" and len(inputs) == 1:
        return _number(graph, imported, inputs[0])
    constants = [imported.constant(*one) for one in (inputs if graph.type(tensor.node) == "Sub" else [tensor])]
    numbers = [np.ravel(constant).tolist() for constant in constants if constant is not None]
    if len(numbers) < len(constants) or any(len(own) != 1 for own in numbers):
        return None
    return int(numbers[0][0] - sum(own[0] for own in numbers[1:]))


def _most_iterations(graph: Graph, imported: ImportedGraph, inside: str) -> int | None:
    """Returns one more than the most iterations of a loop, if its condition compares a counter with a constant.

    Args:
      graph, imported: the graph.
      inside: a node of the loop.
    """
    frames = frames_entered(graph, inside)
    turns = []
    for name in graph.nodes:
        if graph.type(name) == "Less" and name in graph.frames():
            counter, limit = graph.inputs(name)
            if graph.type(counter.node) in MERGES and frames_entered(graph, name) == frames:
                outside = graph.inputs(limit.node)[0] if graph.type(limit.node) in ENTERS else limit
                value = _scalar(graph, imported, outside)
                turns += [] if value is None else [value]
    return min(turns) + 1 if turns else None


def _scalar(graph: Graph, imported: ImportedGraph, tensor: TensorId) -> int | None:
    """Returns an integer that is a constant, or an element of a constant vector such as a shape."""
    value = imported.constant(*tensor)
    if value is None and graph.type(tensor.node) == "StridedSlice":
        vector, begin = (imported.constant(*source) for source in graph.inputs(tensor.node)[:2])
        is_element = graph.nodes[tensor.node].attr["shrink_axis_mask"].i == 1
        if vector is not None and begin is not None and is_element and vector.ndim == 1:
            value = vector[begin[0]]
    return None if value is None else int(value)


def _variable_rows(graph: Graph, handle: str) -> int | None:
    """Returns the first dimension of the variable that a handle comes from."""
    while graph.type(handle) != "VarHandleOp" and graph.inputs(handle):
        handle = graph.inputs(handle)[0].node
    dimensions = graph.nodes[handle].attr["shape"].shape.dim
    return dimensions[0].size if dimensions else None
