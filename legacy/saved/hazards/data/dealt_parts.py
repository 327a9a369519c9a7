"""Parts of an input that towers take by constants: slices, parts of a split, rows that are stacked or gathered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph, is_scalar_placeholder
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from workloads.lifted.graph import TensorId

_DEALS = ("StridedSlice", "Slice", "Split", "Pack", *op_types.GATHERS)


class Part(NamedTuple):
    """A tower's rows of an input.

    Attributes:
      source: the tensor that is dealt.
      first: the first row, or the number of the part of a split.
      stride: between rows; 0 for a part of a split.
      size: the row after the last one, or the number of parts; -1 for the last row.
    """

    source: TensorId
    first: int
    stride: int
    size: int

    def text(self) -> str:
        """The rows in words."""
        name = f"{self.source.node}:{self.source.output}"
        if not self.stride:
            return f"part {self.first} of {self.size} of {name}"
        if self.stride == 1:
            return f"rows from {self.first} on of {name}"
        return f"rows {self.first}, {self.first + self.stride}, ... of {name}"


def deals(whole: WholeGraph) -> set[str]:
    """Returns the nodes that take parts of an input."""
    return {name for name in whole.graph.of_types(*_DEALS) if _source(whole, name)}


def dealt(whole: WholeGraph, tensor: TensorId) -> Part | None:
    """Returns the rows that a slice, a split, a stack or a gathering of an input takes, as far as they are constants.

    Args:
      whole: the graph.
      tensor: a result of one of `deals`, or any other tensor.
    """
    if whole.graph.type(tensor.node) not in _DEALS or _source(whole, tensor.node) is None:
        return None
    kind = whole.graph.type(tensor.node)
    if kind == "Split":
        axis, data = whole.graph.inputs(tensor.node)
        number = whole.graph.nodes[tensor.node].attr["num_split"].i
        return Part(data, tensor.output, 0, number) if whole.value(axis.node) == 0 else None
    if kind == "StridedSlice":
        return _sliced(whole, tensor.node)
    return {"Slice": _plainly_sliced, "Pack": _stacked}.get(kind, _gathered)(whole, tensor.node)


def _source(whole: WholeGraph, name: str) -> TensorId | None:
    """The input that a node takes parts of."""
    graph, kind = whole.graph, whole.graph.type(name)
    data = graph.inputs(name)[op_types.divided_input(kind)]
    if kind == "StridedSlice" and graph.type(data.node) == "Reshape":
        data = graph.inputs(data.node)[0]
    if kind == "Pack":
        if graph.type(data.node) != "Unpack":
            return None
        data = graph.inputs(data.node)[0]
    is_input = op_types.is_source(graph.type(data.node)) and not is_scalar_placeholder(graph, data.node)
    return data if is_input else None


def _plainly_sliced(whole: WholeGraph, name: str) -> Part | None:
    """The rows of `tf.slice`; a size of -1 takes all that are left."""
    data, begin, size = whole.graph.inputs(name)[:3]
    starts, sizes = constant_array(whole.graph, begin.node), constant_array(whole.graph, size.node)
    if starts is None or sizes is None or not np.size(starts):
        return None
    first, rows = int(np.ravel(starts)[0]), int(np.ravel(sizes)[0])
    return Part(data, first, 1, -1 if rows < 0 else first + rows)


def _stacked(whole: WholeGraph, name: str) -> Part | None:
    """The rows of an input that was unstacked, and of which some are stacked again."""
    rows = whole.graph.inputs(name)
    unstacked = rows[0].node
    axes = [whole.graph.nodes[node].attr["axis"].i for node in (name, unstacked)]
    if axes != [0, 0] or any(row.node != unstacked for row in rows):
        return None
    return _in_steps(whole.graph.inputs(unstacked)[0], [row.output for row in rows])


def _gathered(whole: WholeGraph, name: str) -> Part | None:
    """The rows of an input that are gathered by constant numbers."""
    data, indices, *axis = whole.graph.inputs(name)
    rows = constant_array(whole.graph, indices.node)
    if rows is None or np.ndim(rows) != 1 or (axis and whole.value(axis[0].node) != 0):
        return None
    return _in_steps(data, [int(row) for row in rows])


def _in_steps(source: TensorId, rows: Sequence[int]) -> Part | None:
    """The part of two rows or more that follow each other at one distance."""
    strides = {after - before for before, after in zip(rows, rows[1:])}
    if len(strides) != 1 or min(strides) < 1:
        return None
    return Part(source, rows[0], strides.pop(), rows[-1] + 1)


def _sliced(whole: WholeGraph, name: str) -> Part | None:
    """The rows of `x[first:last:stride]`."""
    graph, attributes = whole.graph, whole.graph.nodes[name].attr
    data, *bounds = graph.inputs(name)
    if graph.type(data.node) == "Reshape":
        return _part_of_reshaped(whole, name)
    others = attributes["new_axis_mask"].i | attributes["shrink_axis_mask"].i | attributes["ellipsis_mask"].i
    if others & 1 or any(graph.type(bound.node) != "Const" for bound in bounds):
        return None
    first, last, stride = (
        int(np.ravel(tf.make_ndarray(graph.nodes[bound.node].attr["value"].tensor))[0]) for bound in bounds
    )
    first = 0 if attributes["begin_mask"].i & 1 else first
    return Part(data, first, stride, -1 if attributes["end_mask"].i & 1 else last)


def _part_of_reshaped(whole: WholeGraph, name: str) -> Part | None:
    """The rows of an input that was reshaped to [towers, rows, ...] or [rows, towers, ...], of which [k] or [:, k]."""
    graph = whole.graph
    data, begin, *_ = graph.inputs(name)
    source, shape = graph.inputs(data.node)
    sizes, starts = constant_array(graph, shape.node), constant_array(graph, begin.node)
    axis = {1: 0, 2: 1}.get(graph.nodes[name].attr["shrink_axis_mask"].i)
    if sizes is None or starts is None or axis is None or len(sizes) < 2 or sizes[axis] != whole.count:
        return None
    tower, rows = int(starts[axis]), int(sizes[1])
    if axis == 1:
        return Part(source, tower, whole.count, -1)
    return Part(source, tower * rows, 1, (tower + 1) * rows) if rows > 0 else None
