"""Parts of inputs that slices, splits and indices take: their numbers of rows, and the dimension that they divide."""

from __future__ import annotations

from collections.abc import Sequence

from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph, TensorId, Use

#: Masks of a StridedSlice with which its dimensions are not those of its input.
_OTHER_RANKS = ("ellipsis", "new_axis", "shrink_axis")


def constant_part(graph: Graph, imported: ImportedGraph, row: Sequence[TensorId]) -> int | None:
    """Returns the number of rows that each tower takes of a batch by constants, x[4:8]; None if they are not constant.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      row: an input's tensors, one a tower.

    Returns:
      The number of rows, or None.
    """
    sizes = {_constant_rows(graph, imported, tensor.node) for tensor in row}
    return sizes.pop() if len(sizes) == 1 else None


def equal_slices(graph: Graph, imported: ImportedGraph, tensor: TensorId) -> tuple[int, int] | None:
    """Returns (rows of each, number) of the parts that a graph cuts a batch into by constants: x[:4], x[4:8].

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      tensor: the batch.

    Returns:
      Both numbers; None where there are not two parts or more, one behind the other, of equal length.
    """
    users = [use.node for use in graph.users(tensor.node) if use.output == tensor.output and use.position == 0]
    rows = {name: _constant_rows(graph, imported, name) for name in users}
    constants = [imported.constant(*graph.inputs(name)[1]) for name, number in rows.items() if number]
    begins = {int(constant[0]) for constant in constants if constant is not None}
    sizes = {number for number in rows.values() if number}
    if len(begins) < 2 or len(sizes) != 1:
        return None
    (size,) = sizes
    return (size, len(begins)) if begins == set(range(0, size * len(begins), size)) else None


def split_dimension(graph: Graph, imported: ImportedGraph, name: str) -> int:
    """Returns the dimension that an op divides, which is 1 for sequences with the time first; else 0.

    Of a slice it is the only dimension of which it takes a part, where there are three or more: a part of the second
    one of a matrix may be some of its features.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      name: name of an op.

    Returns:
      The number of the dimension; 0 for any other op, and where it is not constant.
    """
    if graph.type(name) in op_types.SLICES:
        return _sliced_dimension(imported.shape(*graph.inputs(name)[0]), imported.shape(name))
    place = {"Split": 0, "SplitV": 2}.get(graph.type(name))
    axis = None if place is None else imported.constant(*graph.inputs(name)[place])
    shape = imported.shape(name)
    return 0 if axis is None or not shape else int(axis) % len(shape)


def _sliced_dimension(whole: tuple[int | None, ...] | None, part: tuple[int | None, ...] | None) -> int:
    """The only dimension in which a tensor's part is smaller; 0 where that is not known, and of a matrix.

    >>> _sliced_dimension((5, 8, 3), (5, 4, 3)), _sliced_dimension((8, 6), (8, 3)), _sliced_dimension((5, 8, 3), (8, 3))
    (1, 0, 0)
    """
    if not whole or not part or len(whole) != len(part) or len(whole) < 3 or None in whole:
        return 0
    cut = [axis for axis, (size, taken) in enumerate(zip(whole, part)) if size != taken]
    return cut[0] if len(cut) == 1 else 0


def dealt_dimension(graph: Graph, imported: ImportedGraph, row: Sequence[TensorId]) -> int:
    """Returns the only dimension along which towers take different parts of one tensor, by slices that begin elsewhere.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      row: an input's tensors, one a tower.

    Returns:
      The number of the dimension; 0 also where the tensors are no slices of one tensor, or where it is not constant.
    """
    if any(graph.type(tensor.node) not in op_types.SLICES for tensor in row):
        return 0
    begins = [imported.constant(*graph.inputs(tensor.node)[1]) for tensor in row]
    known = [begin.tolist() for begin in begins if begin is not None]
    is_of_one = len({graph.inputs(tensor.node)[0] for tensor in row}) == 1
    masks = {graph.nodes[tensor.node].attr[f"{word}_mask"].i for tensor in row for word in _OTHER_RANKS}
    if len(known) < len(row) or not is_of_one or any(masks):
        return 0
    differing = [axis for axis, numbers in enumerate(zip(*known)) if len(set(numbers)) == len(row)]
    return differing[0] if len(differing) == 1 else 0


def rows_taken(graph: Graph, imported: ImportedGraph, tensor: TensorId) -> int | None:
    """Returns the number of rows that a tower takes of an input by a constant, as `tf.slice(x, [0, 0], [4, 1])` does.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      tensor: the input.

    Returns:
      The smallest number; None if there is none, and where rows are left that begin elsewhere.
    """
    taken = [use.node for use in graph.users(tensor.node) if use.output == tensor.output and use.position == 0]
    slices = [name for name in taken if graph.type(name) == "Slice"]
    begins = [imported.constant(*graph.inputs(name)[1]) for name in slices]
    if not slices or any(begin is None or not begin.size or begin[0] for begin in begins):
        return None
    numbers = [_constant_rows(graph, imported, name) for name in slices]
    return min((number for number in numbers if number), default=None)


def _constant_rows(graph: Graph, imported: ImportedGraph, name: str) -> int | None:
    """Returns the number of rows that a slice takes, by its constants; None for anything else.

    An index, such as x[0] of batches that are stacked, takes one batch and no row of it.
    """
    kind = graph.type(name)
    if kind not in op_types.SLICES or (kind == "StridedSlice" and is_index(graph, imported, name)):
        return None
    begin, end = (imported.constant(*tensor) for tensor in graph.inputs(name)[1:3])
    if begin is None or end is None or not begin.size:
        return None
    rows = int(end[0]) if kind == "Slice" else int(end[0]) - int(begin[0])
    return rows if rows > 0 and begin[0] >= 0 else None


def is_index(graph: Graph, imported: ImportedGraph, name: str) -> bool:
    """Returns whether an op takes one place of the first dimension, which its result lacks, as x[t] does.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      name: of the op.

    Returns:
      The answer.
    """
    kind, attributes = graph.type(name), graph.nodes[name].attr
    if kind in op_types.GATHERS:
        return imported.shape(*graph.inputs(name)[1]) == ()
    if kind == "Unpack":
        return attributes["axis"].i == 0
    return kind == "StridedSlice" and "shrink_axis_mask" in attributes and bool(attributes["shrink_axis_mask"].i & 1)


def is_indexed(graph: Graph, imported: ImportedGraph, tensor: TensorId) -> bool:
    """Returns whether each use of a tensor takes one place of its first dimension, as of a sequence with time first.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      tensor: the tensor.

    Returns:
      False also if nothing uses its values; uses of its shape alone do not count.
    """
    uses = _uses_of_values(graph, tensor)
    return bool(uses) and all(use.position == 0 and is_index(graph, imported, use.node) for use in uses)


def is_time_first(graph: Graph, imported: ImportedGraph, tensor: TensorId) -> bool:
    """Returns whether each use of a tensor exchanges its first two dimensions, as of a sequence with time first.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      tensor: the tensor.

    Returns:
      False also if nothing uses its values; uses of its shape alone do not count.
    """
    uses = _uses_of_values(graph, tensor)
    orders = [imported.constant(*graph.inputs(use.node)[1]) for use in uses if graph.type(use.node) == "Transpose"]
    return bool(uses) and len(orders) == len(uses) and all(o is not None and list(o[:2]) == [1, 0] for o in orders)


def _uses_of_values(graph: Graph, tensor: TensorId) -> list[Use]:
    """The uses of a tensor but for those of its shape alone."""
    uses = [use for use in graph.users(tensor.node) if use.output == tensor.output]
    return [use for use in uses if graph.type(use.node) not in op_types.SHAPE_OPS]
