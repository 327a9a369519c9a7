"""Kinds of recurrent cells that the iterations of a loop run, by their gates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence

if TYPE_CHECKING:
    import tensorflow as tf

#: Ops that hand gates on, one by one.
_PARTS = ("Split", "SplitV", "StridedSlice", "Identity")


def cell_kind(operations: Sequence[tf.Operation]) -> str:
    """Returns the kind of recurrent cell that an iteration runs: "lstm", "gru", "rnn", or "loop" for none.

    A GRU mixes its old state and its candidate by a gate and by one minus the gate. An LSTM has no such difference:
    each of its products of a gate and a tangent has a gate of its own.
    """
    types = [operation.type for operation in operations]
    gates = [operation for operation in operations if operation.type == "Mul" and _multiplies_gate(operation)]
    mixes = any(operation.type == "Sub" and _is_gate(operation.inputs[1]) for operation in operations)
    if "Tanh" not in types:
        return "loop"
    if mixes:
        return "gru"
    return "lstm" if len(gates) > 1 and types.count("Tanh") > 1 else "rnn"


def _multiplies_gate(operation: tf.Operation) -> bool:
    """Whether a product is of a gate and a hyperbolic tangent."""
    first, other = operation.inputs
    return any(_is_gate(one) and two.op.type == "Tanh" for one, two in ((first, other), (other, first)))


def _is_gate(tensor: tf.Tensor) -> bool:
    """Whether a tensor is a sigmoid, or a part of one."""
    while tensor.op.type in _PARTS:
        tensor = next((t for t in tensor.op.inputs if t.dtype.is_floating), None)
        if tensor is None:
            return False
    return tensor.op.type == "Sigmoid"
