"""Writers of ops that take some of a tensor's elements: lookups and slices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, NamedTuple

import numpy as np

from legacy.saved.graph import op_types
from legacy.source.basics.expressions import OMIT, Infix, Item, Listing, Literal, call
from legacy.source.ops.arrays import listed_sizes

if TYPE_CHECKING:
    from collections.abc import Callable

    from legacy.source.basics.expressions import Expression
    from legacy.source.ops.view import OpView


def write_gather(op: OpView) -> Expression | None:
    """Writes a lookup of rows, or of entries along another axis, also of each example by indices of its own."""
    axis = op.constant(2) if op.type == "GatherV2" else np.array(0)
    if axis is None:
        return None
    if int(axis) == 0 and op.producer(0).is_variable:
        return call("tf.nn.embedding_lookup", op.argument(0), op.argument(1))
    batch = int(op.attribute("batch_dims")) if "batch_dims" in op.operation.node_def.attr else 0
    axes = {"axis": OMIT if int(axis) == batch else int(axis), "batch_dims": batch or OMIT}
    return call("tf.gather", op.argument(0), op.argument(1), **axes)


def write_gather_nd(op: OpView) -> Expression | None:
    """Writes a lookup by index vectors."""
    return call("tf.gather_nd", op.argument(0), op.argument(1))


def write_slice(op: OpView) -> Expression | None:
    """Writes a slice given by begin and size."""
    begin, size, shape = op.constant(1), op.value(2), op.shape(0)
    if begin is None or size is None or shape is None:
        return call("tf.slice", op.argument(0), listed_sizes(op, 1), listed_sizes(op, 2))
    listed = listed_sizes(op, 2) if _follows_batch(op, 2) else None
    if listed is not None and not (isinstance(listed, Listing) and len(listed.items) == len(size)):
        return call("tf.slice", op.argument(0), listed_sizes(op, 1), listed)
    parts = _Parts([], [])
    for place, (start, length, whole) in enumerate(zip(begin, size, shape)):
        end: int | Expression = int(start) + int(length)
        is_whole = length == -1 or end == whole
        entry = listed.items[place] if isinstance(listed, Listing) else Literal(int(length))
        if not isinstance(entry, Literal):
            end = Infix("+", Literal(int(start)), entry) if start else entry
        stop = None if is_whole else _bound(end, parts.bounds)
        parts.texts.append(_range_text(int(start) or None, stop, 1))
    return Item(op.argument(0), ", ".join(_without_trailing(parts.texts)), tuple(parts.bounds))


def own_part(op: OpView, expression: Expression, towers: int) -> Expression:
    """Writes the part of a tensor that a replica takes, where each tower of the old graph takes its own.

    Args:
      op: the op that takes a part: a split, or a slice of whole rows.
      expression: the op as it is written otherwise; of a split, all parts.
      towers: number of equal parts.

    Returns:
      The part by the replica's number.
    """
    if op.type not in op_types.SLICES:
        return Item(expression, "scope.replica")
    whole, part = op.shape(0), op.operation.outputs[0].shape
    if whole is not None and part.rank == len(whole) - 1:
        return Item(op.argument(0), "scope.replica")
    return Item(call("tf.split", op.argument(0), towers, axis=0), "scope.replica")


#: Position of the input of a strided slice that has the ends.
_END = 2


class _Parts(NamedTuple):
    """The parts of a strided slice, as text with {} for each of the bounds that other tensors give."""

    texts: List[str]
    bounds: List[Expression]


def write_strided_slice(op: OpView) -> Expression | None:
    """Writes a slice, `x[:, 0]`."""
    parts = _slice_parts(op)
    if parts is None:
        return None
    return Item(op.argument(0), ", ".join(_without_trailing(parts.texts)), tuple(parts.bounds))


def takes_all(op: OpView) -> bool:
    """Returns whether a strided slice takes all of its tensor, as `x[:]` does."""
    parts = _slice_parts(op)
    return parts is not None and set(parts.texts) <= {":", "..."}


def _slice_parts(op: OpView) -> _Parts | None:
    """Returns the parts of a strided slice; None where it depends on the number of examples, or on whole vectors."""
    begin, end, strides = _entries(op, 1), _entries(op, 2), op.constant(3)
    shape, known = op.shape(0), op.value(2)
    if begin is None or end is None or strides is None:
        return None
    parts = _Parts([], [])
    dimension = 0
    for i in range(len(begin)):
        if op.attribute("ellipsis_mask") >> i & 1:
            parts.texts.append("...")
            dimension = len(shape or ()) - (len(begin) - i - 1)
            continue
        if op.attribute("new_axis_mask") >> i & 1:
            parts.texts.append("tf.newaxis")
            continue
        if op.attribute("shrink_axis_mask") >> i & 1:
            parts.texts.append(_bound(begin[i], parts.bounds))
        else:
            first, last = begin[i], end[i]
            start = None if op.attribute("begin_mask") >> i & 1 or first == 0 else first
            whole = shape is not None and known is not None and known[i] >= shape[dimension]
            stop = None if op.attribute("end_mask") >> i & 1 or whole else last
            if isinstance(stop, int) and _follows_batch(op, 2):
                return None
            limits = [None if limit is None else _bound(limit, parts.bounds) for limit in (start, stop)]
            parts.texts.append(_range_text(limits[0], limits[1], int(strides[i])))
        dimension += 1
    return parts


def _follows_batch(op: OpView, position: int) -> bool:
    """Returns whether an input is known, and another one for another number of examples."""
    return op.constant(position) is None and op.value(position) is not None


def _entries(op: OpView, position: int) -> List[int | Expression] | None:
    """Returns the entries of a vector of bounds: numbers, or expressions of the scalars that it is packed of."""
    numbers, packed = op.constant(position), op.producer(position)
    if numbers is None and packed.type != "Pack":
        numbers = op.value(position) if position == _END else None
    if numbers is not None:
        return [int(number) for number in numbers]
    if packed.type != "Pack":
        return None
    values = packed.arguments()
    return [int(value.value) if isinstance(value, Literal) else value for value in values]


def _bound(value: int | Expression, bounds: List[Expression]) -> str:
    """Returns a bound as text; an expression is added to `bounds`."""
    if isinstance(value, int):
        return str(value)
    bounds.append(value)
    return "{}"


def _range_text(start: int | str | None, stop: int | str | None, stride: int) -> str:
    text = f"{'' if start is None else start}:{'' if stop is None else stop}"
    return text if stride == 1 else f"{text}:{stride}"


def _without_trailing(texts: List[str]) -> List[str]:
    """Returns the parts of a slice without full ranges at the end; those behind an ellipsis count from the end."""
    kept = list(texts)
    while len(kept) > 1 and kept[-1] == ":":
        kept = kept[:-1]
    return texts if "..." in kept[:-1] else kept


WRITERS: Dict[str, Callable[[OpView], Expression | None]] = {
    "Gather": write_gather,
    "GatherNd": write_gather_nd,
    "GatherV2": write_gather,
    "Slice": write_slice,
    "StridedSlice": write_strided_slice,
}
