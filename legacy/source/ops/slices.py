"""Writers of ops that take some of a tensor's elements: lookups and slices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List

import numpy as np

from legacy.source.basics.expressions import OMIT, Item, call
from legacy.source.ops.arrays import listed_sizes

if TYPE_CHECKING:
    from collections.abc import Callable

    from legacy.source.basics.expressions import Expression
    from legacy.source.ops.view import OpView


def write_gather(op: OpView) -> Expression | None:
    """Writes a lookup of rows, or of entries along another axis."""
    axis = op.constant(2) if op.type == "GatherV2" else np.array(0)
    if axis is None:
        return None
    if int(axis) == 0 and op.producer(0).type == "Placeholder":
        return call("tf.nn.embedding_lookup", op.argument(0), op.argument(1))
    return call("tf.gather", op.argument(0), op.argument(1), axis=int(axis) if int(axis) else OMIT)


def write_gather_nd(op: OpView) -> Expression | None:
    """Writes a lookup by index vectors."""
    return call("tf.gather_nd", op.argument(0), op.argument(1))


def write_slice(op: OpView) -> Expression | None:
    """Writes a slice given by begin and size."""
    begin, size, shape = op.constant(1), op.value(2), op.shape(0)
    if begin is None or size is None or shape is None:
        return call("tf.slice", op.argument(0), listed_sizes(op, 1), listed_sizes(op, 2))
    texts = []
    for start, length, whole in zip(begin, size, shape):
        end = int(start) + int(length)
        texts.append(_range_text(int(start) or None, None if length == -1 or end == whole else end, 1))
    return Item(op.argument(0), ", ".join(_without_trailing(texts)))


def write_strided_slice(op: OpView) -> Expression | None:
    """Writes a slice, `x[:, 0]`."""
    texts = slice_parts(op)
    return Item(op.argument(0), ", ".join(_without_trailing(texts))) if texts is not None else None


def takes_all(op: OpView) -> bool:
    """Returns whether a strided slice takes all of its tensor, as `x[:]` does."""
    texts = slice_parts(op)
    return texts is not None and set(texts) <= {":", "..."}


def slice_parts(op: OpView) -> List[str] | None:
    """Returns a strided slice's parts as text, `[":", "0"]`; None where they depend on other tensors."""
    begin, end, strides = op.constant(1), op.value(2), op.constant(3)
    shape = op.shape(0)
    if begin is None or end is None or strides is None or shape is None and op.attribute("ellipsis_mask"):
        return None
    texts: List[str] = []
    dimension = 0
    for i in range(len(begin)):
        if op.attribute("ellipsis_mask") >> i & 1:
            texts.append("...")
            dimension = len(shape or ()) - (len(begin) - i - 1)
            continue
        if op.attribute("new_axis_mask") >> i & 1:
            texts.append("tf.newaxis")
            continue
        if op.attribute("shrink_axis_mask") >> i & 1:
            texts.append(str(int(begin[i])))
        else:
            start = None if op.attribute("begin_mask") >> i & 1 or int(begin[i]) == 0 else int(begin[i])
            whole = shape is not None and int(end[i]) >= shape[dimension]
            stop = None if op.attribute("end_mask") >> i & 1 or whole else int(end[i])
            if stop is not None and op.constant(2) is None:
                return None
            texts.append(_range_text(start, stop, int(strides[i])))
        dimension += 1
    return texts


def _range_text(start: int | None, stop: int | None, stride: int) -> str:
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
