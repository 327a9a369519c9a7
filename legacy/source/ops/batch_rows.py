"""Tensors whose rows are the examples of a batch, in a graph of one batch size, whose sizes are plain numbers."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Dict, FrozenSet, Iterator, Set

import tensorflow as tf

from legacy.saved.graph.op_types import GATHERS

if TYPE_CHECKING:
    from legacy.source.basics.forward import Forward

#: {op type: number of an input whose first dimension is not that of the result}, though it may have its size.
_OF_ITS_OWN = {
    "MatMul": 1,
    "Conv2D": 1,
    "Conv1D": 1,
    "Conv3D": 1,
    "DepthwiseConv2dNative": 1,
    "Conv2DBackpropInput": 1,
    "Conv3DBackpropInputV2": 1,
    **{name: 0 for name in GATHERS},
}
#: Ops of whose inputs and results the first ones have rows of examples; the others are of the channels.
_OF_CHANNELS = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
_REDUCTIONS = ("Sum", "Mean", "Max", "Min", "ArgMax")
#: Ops whose result has rows of the input's, and another number of dimensions.
_CHANGE_RANK = (
    "Reshape",
    "ExpandDims",
    "Squeeze",
    "StridedSlice",
    *_REDUCTIONS,
    "OneHot",
    "Pack",
    "Unpack",
    "SparseSoftmaxCrossEntropyWithLogits",
    "SoftmaxCrossEntropyWithLogits",
    *GATHERS,
)


@functools.lru_cache(maxsize=4)
def rows_of_batch(forward: Forward) -> FrozenSet[str]:
    """Returns the tensors whose rows go with those of examples; none of a graph that takes any number of examples.

    A tensor is one of them if it has as many rows, and an op takes or makes it together with one, row by row. So is a
    matrix that is the start of a loop's state.
    """
    if not forward.fixed:
        return frozenset()
    partners: Dict[str, Set[str]] = {}
    found = [f"{name}:0" for name in forward.examples]
    for operation in forward.typed.operations():
        alike = list(dict.fromkeys(_alike(operation, forward.batch)))
        for tensor in alike:
            partners.setdefault(tensor, set()).update(alike)
        if operation.name in forward.loops:
            found += [tensor.name for tensor in operation.inputs if _has_rows(tensor, forward.batch, 2)]
    reached: Set[str] = set()
    while found:
        tensor = found.pop()
        if tensor not in reached:
            reached.add(tensor)
            found += partners.get(tensor, ())
    return frozenset(reached)


def _alike(operation: tf.Operation, batch: int) -> Iterator[str]:
    """Yields the inputs and results of an op whose rows go together, as far as there are `batch` of them."""
    if _exchanges_rows(operation):
        return
    end = 1 if operation.type in _OF_CHANNELS else None
    ranks = {output.shape.rank for output in operation.outputs[:end]}
    for place, tensor in enumerate(operation.inputs[:end]):
        fits = operation.type in _CHANGE_RANK or tensor.shape.rank in ranks
        if fits and _OF_ITS_OWN.get(operation.type) != place and _has_rows(tensor, batch):
            yield tensor.name
    yield from (tensor.name for tensor in operation.outputs[:end] if _has_rows(tensor, batch))


def _exchanges_rows(operation: tf.Operation) -> bool:
    """Returns whether the first dimension of an op's result is another one of its input, if of the same size."""
    kind = operation.type
    if kind in _REDUCTIONS:
        axes, rank = tf.get_static_value(operation.inputs[1]), operation.inputs[0].shape.rank
        return axes is not None and bool(rank) and 0 in axes.ravel() % rank
    if kind in ("Pack", "Unpack"):
        return int(operation.get_attr("axis")) == 0
    if kind == "StridedSlice":
        return bool(operation.get_attr("shrink_axis_mask") & 1)
    return kind == "Transpose" or kind == "MatMul" and bool(operation.get_attr("transpose_a"))


def _has_rows(tensor: tf.Tensor, batch: int, least_rank: int = 1) -> bool:
    """Returns whether a tensor has `batch` rows."""
    shape = tensor.shape
    return shape.rank is not None and shape.rank >= least_rank and shape[0] == batch
