"""LSTM and GRU cells: the ops that compute the next state from the gates, and the functions written for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional, Tuple

from legacy.saved.graph import op_types
from legacy.source.basics.expressions import call
from legacy.source.basics.match import Match

if TYPE_CHECKING:
    from legacy.source.basics.expressions import Expression
    from legacy.source.ops.view import OpView

#: {function: its text}: of a cell with one kernel, and of what follows the gates of any other.
FUNCTIONS = {
    "lstm_cell": [
        "def lstm_cell(x, c, h, kernel, bias, forget_bias):",
        '    """Runs an LSTM cell of 1.x on [batch, features]; returns its next state (c, h)."""',
        "    gates = tf.nn.bias_add(tf.matmul(tf.concat([x, h], axis=1), kernel), bias)",
        "    i, j, f, o = tf.split(gates, 4, axis=1)",
        "    c = c * tf.sigmoid(f + forget_bias) + tf.sigmoid(i) * tf.tanh(j)",
        "    return c, tf.tanh(c) * tf.sigmoid(o)",
    ],
    "old_lstm_cell": [
        "def old_lstm_cell(x, c, h, kernel, bias, forget_bias):",
        '    """Runs an LSTM cell of TensorFlow before 1.0 on [batch, features]; returns its next state (c, h)."""',
        "    i, j, f, o = tf.split(tf.matmul(tf.concat([x, h], axis=1), kernel) + bias, 4, axis=1)",
        "    c = c * tf.sigmoid(f + forget_bias) + tf.sigmoid(i) * tf.tanh(j)",
        "    return c, tf.tanh(c) * tf.sigmoid(o)",
    ],
    "gru_cell": [
        "def gru_cell(x, h, kernel, bias, candidate_kernel, candidate_bias):",
        '    """Runs a GRU cell of 1.x on [batch, features]; returns its next state."""',
        "    gates = tf.sigmoid(tf.nn.bias_add(tf.matmul(tf.concat([x, h], axis=1), kernel), bias))",
        "    r, u = tf.split(gates, 2, axis=1)",
        "    x = tf.matmul(tf.concat([x, r * h], axis=1), candidate_kernel)",
        "    return u * h + (1.0 - u) * tf.tanh(tf.nn.bias_add(x, candidate_bias))",
    ],
    "old_gru_cell": [
        "def old_gru_cell(x, h, kernel, bias, candidate_kernel, candidate_bias):",
        '    """Runs a GRU cell of TensorFlow before 1.0 on [batch, features]; returns its next state."""',
        "    r, u = tf.split(tf.matmul(tf.concat([x, h], axis=1), kernel) + bias, 2, axis=1)",
        "    x = tf.matmul(tf.concat([x, tf.sigmoid(r) * h], axis=1), candidate_kernel)",
        "    u = tf.sigmoid(u)",
        "    return u * h + (1.0 - u) * tf.tanh(x + candidate_bias)",
    ],
    "lstm_state": [
        "def lstm_state(gates, c, forget_bias):",
        '    """Returns the next state (c, h) of an LSTM cell from its gates [batch, 4 * units]."""',
        "    i, j, f, o = tf.split(gates, 4, axis=1)",
        "    c = c * tf.sigmoid(f + forget_bias) + tf.sigmoid(i) * tf.tanh(j)",
        "    return c, tf.tanh(c) * tf.sigmoid(o)",
    ],
}


def match_lstm_cell(op: OpView) -> Optional[Match]:
    """Matches `tanh(c) * sigmoid(o)` with `c = c_before * sigmoid(f + bias) + sigmoid(i) * tanh(j)`."""
    found = _pair(op, "Tanh", "Sigmoid")
    if found is None:
        return None
    tangent, output = found
    state = tangent.producer(0)
    if state.type not in op_types.SUMS_OF_TWO or state.producer(0).type != "Mul" or state.producer(1).type != "Mul":
        return None
    for kept, added in ((0, 1), (1, 0)):
        new = _pair(state.producer(added), "Sigmoid", "Tanh")
        for position in (0, 1):
            forget = state.producer(kept).producer(position)
            if new is None or forget.type != "Sigmoid":
                continue
            gate, bias = _forget_gate(forget)
            gates = (new[0].tensor(0), new[1].tensor(0), gate, output.tensor(0))
            split = new[0].producer(0)
            if _are_parts(split, gates):
                before = state.producer(kept).argument(1 - position)
                return Match((state.output, op.output), _cell(split, before, bias))
    return None


def _forget_gate(op: OpView) -> Tuple[str, object]:
    """Returns the tensor of the forget gate behind its sigmoid, and the constant that is added to it."""
    shifted = op.producer(0)
    bias = shifted.constant(1) if shifted.type in op_types.SUMS_OF_TWO else None
    if bias is None or bias.shape != ():
        return op.tensor(0), 0.0
    return shifted.tensor(0), bias[()]


def _cell(split: OpView, before: Expression, forget_bias: object) -> Expression:
    """Returns the call of a cell, of which an op splits the gates."""
    layer = _layer(split.producer(1))
    if layer is None:
        return call("lstm_state", split.argument(1), before, forget_bias)
    joined, product, gates = layer
    first = int(joined.type == "Concat")  # which has the axis before the tensors
    x, h = joined.arguments(first, first + 2)
    cell = "lstm_cell" if gates.type == "BiasAdd" else "old_lstm_cell"
    return call(cell, x, before, h, product.argument(1), gates.argument(1), forget_bias)


def match_gru_cell(op: OpView) -> Optional[Match]:
    """Matches `u * h + (1 - u) * tanh(...)` with the gates r and u, as `GRUCell` computes it."""
    kept, new = op.producer(0), op.producer(1)
    if kept.type != "Mul" or new.type != "Mul" or new.producer(0).type != "Sub" or new.producer(1).type != "Tanh":
        return None
    rest, candidate = new.producer(0), _layer(new.producer(1).producer(0))
    one = rest.constant(0)
    if one is None or one.shape != () or float(one) != 1.0 or rest.tensor(1) != kept.tensor(0) or candidate is None:
        return None
    first = int(candidate[0].type == "Concat")  # which has the axis before the tensors
    update, reset = kept.producer(0), candidate[0].producer(first + 1)
    cell, found = ("old_gru_cell", _old_gates(update)) if update.type == "Sigmoid" else ("gru_cell", _gates(update))
    if found is None or reset.type != "Mul":
        return None
    split, layer = found
    parts = tuple(output.name for output in split.operation.outputs)
    reset_gate = reset.producer(0) if cell == "old_gru_cell" else None
    if reset_gate is not None and reset_gate.type != "Sigmoid":
        return None
    gates = (reset.tensor(0), kept.tensor(0)) if reset_gate is None else (reset_gate.tensor(0), update.tensor(0))
    joined = layer[0]
    if joined.type != candidate[0].type:
        return None
    inputs = [(one.tensor(first), one.tensor(first + 1)) for one in (joined, candidate[0])]
    same = inputs[0] == (inputs[1][0], kept.tensor(1)) and reset.tensor(1) == kept.tensor(1)
    if not same or parts != gates or (layer[2].type == "BiasAdd") != (candidate[2].type == "BiasAdd"):
        return None
    if (layer[2].type == "BiasAdd") != (cell == "gru_cell"):
        return None
    kernels = (layer[1].argument(1), layer[2].argument(1), candidate[1].argument(1), candidate[2].argument(1))
    return Match((op.output,), call(cell, joined.argument(first), kept.argument(1), *kernels))


def _gates(split: OpView) -> Optional[Tuple[OpView, Tuple[OpView, OpView, OpView]]]:
    """Returns the op that splits gates, behind one sigmoid for both, and their layer; None for something else."""
    gates = split.producer(1) if split.type == "Split" else split
    layer = _layer(gates.producer(0)) if gates.type == "Sigmoid" else None
    return (split, layer) if layer is not None and _splits_columns(split) else None


def _old_gates(update: OpView) -> Optional[Tuple[OpView, Tuple[OpView, OpView, OpView]]]:
    """Returns the same of gates that have a sigmoid each."""
    split = update.producer(0)
    layer = _layer(split.producer(1)) if split.type == "Split" else None
    return (split, layer) if layer is not None and _splits_columns(split) else None


def _splits_columns(split: OpView) -> bool:
    axis = split.constant(0) if split.type == "Split" else None
    return axis is not None and int(axis) in (1, -1)


def _layer(op: OpView) -> Optional[Tuple[OpView, OpView, OpView]]:
    """Returns join, product and sum of a dense layer on two joined tensors; None for something else."""
    if op.type not in ("BiasAdd", *op_types.SUMS_OF_TWO) or op.producer(0).type != "MatMul":
        return None
    product, added = op.producer(0), op.shape(1)
    if added is None or len(added) != 1:
        return None
    joined = product.producer(0)
    place = {"Concat": 0, "ConcatV2": 2}.get(joined.type)
    axis = joined.constant(place) if place is not None and len(joined.operation.inputs) == 3 else None
    plain = not product.attribute("transpose_a") and not product.attribute("transpose_b")
    return (joined, product, op) if plain and axis is not None and int(axis) in (1, -1) else None


def _pair(op: OpView, one: str, other: str) -> Optional[Tuple[OpView, OpView]]:
    """Returns the factors of a product in the order of their types, or None if it has others."""
    if op.type != "Mul" or len(op.operation.inputs) != 2:
        return None
    factors = [op.producer(0), op.producer(1)]
    if factors[0].type != one:
        factors.reverse()
    return (factors[0], factors[1]) if [factor.type for factor in factors] == [one, other] else None


def _are_parts(split: OpView, tensors: Tuple[str, ...]) -> bool:
    """Returns whether tensors are the four parts, in order, that an op splits the last dimension of a matrix into."""
    axis = split.constant(0) if split.type == "Split" else None
    if axis is None or int(axis) not in (1, -1):
        return False
    return len(tensors) == 4 and tuple(output.name for output in split.operation.outputs) == tensors
