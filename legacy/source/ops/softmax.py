"""Idiom of a softmax along the last dimension: until 1.13 it is one of rows, between two reshapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

from legacy.source.basics.expressions import call
from legacy.source.ops.gradient_order import orders_gradients
from legacy.source.ops.match import Match

if TYPE_CHECKING:
    from legacy.source.ops.view import OpView

_FUNCTIONS = {"Softmax": "tf.nn.softmax", "LogSoftmax": "tf.nn.log_softmax"}


def match_softmax(op: OpView) -> Optional[Match]:
    """Matches a reshape back to the shape of what was reshaped to rows, of whose rows it is the softmax."""
    rows = op.producer(0)
    if rows.type not in _FUNCTIONS or rows.uses() != 1:
        return None
    flat = rows.producer(0)
    if flat.type != "Reshape" or not _keeps_last(flat) or not _restores(op, flat):
        return None
    if orders_gradients(op.operation, 0) or orders_gradients(flat.operation, 0):
        return None
    return Match((op.output,), call(_FUNCTIONS[rows.type], flat.argument(0)))


def _keeps_last(flat: OpView) -> bool:
    """Returns whether a reshape to a matrix has rows that are the last dimension of its tensor."""
    before, after = flat.shape(0), flat.output_shape()
    if before and after:
        return len(after) == 2 and before[-1] == after[-1]
    target = flat.producer(1)
    if target.type != "ConcatV2" or len(target.operation.inputs) != 3:
        return False
    first, last = target.value(0), target.producer(1)
    return first is not None and list(first) == [-1] and last.type == "Slice" and _is_shape_of(last.producer(0), flat)


def _restores(op: OpView, flat: OpView) -> bool:
    """Returns whether a reshape gives back the shape that was there before another one."""
    before, after = flat.shape(0), op.output_shape()
    return before == after if before and after else _is_shape_of(op.producer(1), flat)


def _is_shape_of(op: OpView, flat: OpView) -> bool:
    """Returns whether an op gives the shape of what another one reshapes."""
    return op.type == "Shape" and op.tensor(0) == flat.tensor(0)
