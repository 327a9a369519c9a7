"""Columns of a table of data: which of them a tensor of one row for each example holds, behind slices and joins."""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple

import numpy as np

from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.graph.joins import join_of
from workloads.lifted.graph import Graph, TensorId

#: Ops that hand the columns of their first input on; and those that may drop or add a dimension of one.
_PASSES = ("Identity", "Cast", "StopGradient", "PlaceholderWithDefault")
_OTHER_SHAPES = ("Reshape", "ExpandDims", "Squeeze")
_SCALED = ("Add", "AddV2", "Sub", *op_types.SCALINGS)


class Column(NamedTuple):
    """A column of a table.

    Attributes:
      table: the tensor that has it.
      rows: which parts of the table's rows are taken, one part of another.
      place: its number in the table.
    """

    table: TensorId
    rows: tuple[tuple[str, int], ...]
    place: int


#: The column that each number of a row is; None of one that is computed otherwise.
Columns = Tuple[Optional[Column], ...]


def columns_of(graph: Graph, imported: ImportedGraph, tensor: TensorId) -> Columns:
    """Finds the columns that a tensor holds.

    Args:
      graph: of a training step.
      imported: the same, with shapes.
      tensor: one of shape [examples, columns], or of shape [examples] for a single column.

    Returns:
      A column for each number of a row; () of a tensor of another shape.
    """
    shape = imported.shape(*tensor)
    if shape is None or len(shape) not in (1, 2) or (len(shape) == 2 and shape[1] is None):
        return ()
    width = 1 if len(shape) == 1 else int(shape[1] or 0)
    found = _columns(graph, imported, tensor)
    if found is None:
        found = tuple(Column(tensor, (), place) for place in range(width))
    return found if len(found) == width else (None,) * width


def _columns(graph: Graph, imported: ImportedGraph, tensor: TensorId) -> Columns | None:
    """The columns that a tensor has of others; None of one that is a table itself."""
    kind, inputs = graph.type(tensor.node), graph.inputs(tensor.node)
    if kind in op_types.SLICES or kind in op_types.SPLITS:
        whole = columns_of(graph, imported, inputs[op_types.divided_input(kind)])
        return _part(graph, imported, tensor, whole) if whole else None
    join = join_of(graph, tensor.node)
    if join is not None or (kind == "Pack" and graph.nodes[tensor.node].attr["axis"].i in (1, -1)):
        axis = 1 if join is None else imported.constant(*join.axis)
        parts = [columns_of(graph, imported, part) for part in (inputs if join is None else join.parts)]
        is_along = axis is not None and int(axis) in (1, -1) and all(parts)
        return tuple(one for part in parts for one in part) if is_along else ()
    if kind in _PASSES and inputs:
        return columns_of(graph, imported, inputs[0])
    if kind in _OTHER_SHAPES:
        before = columns_of(graph, imported, inputs[0])
        is_kept = len(before) == 1 or (imported.shape(*inputs[0]) or ())[1:] == (imported.shape(*tensor) or ())[1:]
        return before if is_kept else ()
    if kind in _SCALED:
        return _scaled(graph, imported, inputs)
    return None if op_types.is_source(kind) or not inputs else ()


def _scaled(graph: Graph, imported: ImportedGraph, inputs: list[TensorId]) -> Columns:
    """The columns that are moved by constants, or multiplied by ones that are not 0; () of another sum or product."""
    constants = [imported.constant(*one) for one in inputs]
    given = [one for one, constant in zip(inputs, constants) if constant is None]
    known = [np.asarray(constant) for constant in constants if constant is not None]
    is_plain = len(given) == 1 and (known[0] != 0).all()
    return columns_of(graph, imported, given[0]) if is_plain else ()


def _part(graph: Graph, imported: ImportedGraph, tensor: TensorId, whole: Columns) -> Columns:
    """The columns of a slice, or of an output of a split, whose input has some; () where its bounds are computed."""
    kind, inputs = graph.type(tensor.node), graph.inputs(tensor.node)
    if kind in op_types.SPLITS:
        axis = imported.constant(*inputs[0 if kind == "Split" else 2])
        if axis is None:
            return ()
        if int(axis) == 0:
            return _of_rows(whole, tensor)
        sizes = [(imported.shape(tensor.node, output) or ())[-1:] for output in range(imported.outputs(tensor.node))]
        if any(size in ((), (None,)) for size in sizes):
            return ()
        start = sum(int(size[0] or 0) for size in sizes[: tensor.output])
        return whole[start : start + int(sizes[tensor.output][0] or 0)]
    bounds = [imported.constant(*one) for one in inputs[1:]]
    numbers = [np.ravel(bound).tolist() for bound in bounds if bound is not None]
    if len(numbers) < len(bounds):
        return ()
    return _of_slice(tensor, whole, numbers) if kind == "Slice" else _of_strides(graph, tensor, whole, numbers)


def _of_rows(whole: Columns, tensor: TensorId) -> Columns:
    """The columns in a part of the rows."""
    return tuple(one and one._replace(rows=(*one.rows, tensor)) for one in whole)


def _of_slice(tensor: TensorId, whole: Columns, numbers: list[list[int]]) -> Columns:
    (begin, size), is_all = numbers, numbers[0][0] == 0 and numbers[1][0] == -1
    rows = whole if is_all else _of_rows(whole, tensor)
    return rows if len(begin) == 1 else rows[begin[1] :][: None if size[1] == -1 else size[1]]


def _of_strides(graph: Graph, tensor: TensorId, whole: Columns, numbers: list[list[int]]) -> Columns:
    """The columns of x[a:b, c:d], of x[:, c], of x[..., c]; () where a slice takes one row, or adds dimensions."""
    begin, end, strides = numbers
    attributes = graph.nodes[tensor.node].attr
    starts, ends, single, added = (attributes[f"{word}_mask"].i for word in ("begin", "end", "shrink_axis", "new_axis"))
    if single & 1 or added or len(begin) > 2:
        return ()
    is_all = bool(attributes["ellipsis_mask"].i & 1 or starts & ends & 1)
    rows = whole if is_all else _of_rows(whole, tensor)
    if len(begin) == 1:
        return rows
    if single & 2:
        return (rows[begin[1]],) if -len(rows) <= begin[1] < len(rows) else ()
    return rows[slice(None if starts & 2 else begin[1], None if ends & 2 else end[1], strides[1])]
