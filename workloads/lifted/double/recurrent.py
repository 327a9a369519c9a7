"""Formulas of the fused cells of recurrent nets, and of their gradients.

Gates are i (input), f (forget), o (output) and, for the LSTM, ci (the new content); cs is the cell's state, co its
tanh, h the output.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, NamedTuple, Tuple

import tensorflow as tf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

v1 = tf.compat.v1

#: Outputs of an LSTM's step, in the op's order.
_OUTPUTS = ("i", "cs", "f", "o", "ci", "co", "h")


class _Peepholes(NamedTuple):
    """Weights of the connections from the cell's state to the gates, zero if the op has none in use."""

    i: tf.Tensor
    f: tf.Tensor
    o: tf.Tensor


class _Step(NamedTuple):
    """Gradients of one step of an LSTM: of the state and of the gates before their activations."""

    cs_prev: tf.Tensor
    gates: tf.Tensor
    peepholes: _Peepholes


def _peepholes(node: Any, wci: tf.Tensor, wcf: tf.Tensor, wco: tf.Tensor) -> _Peepholes:
    if node.attr["use_peephole"].b:
        return _Peepholes(wci, wcf, wco)
    return _Peepholes(tf.zeros_like(wci), tf.zeros_like(wcf), tf.zeros_like(wco))


def _in_order(node: Any, i: tf.Tensor, ci: tf.Tensor, f: tf.Tensor, o: tf.Tensor) -> list[tf.Tensor]:
    """Returns the gates in the order of the weights' columns, which is its own inverse: V2 has f before ci."""
    return [i, f, ci, o] if node.op.endswith("V2") else [i, ci, f, o]


def _lstm_step(
    node: Any, gates: tf.Tensor, cs_prev: tf.Tensor, peepholes: _Peepholes, forget_bias: float
) -> list[tf.Tensor]:
    """Returns `_OUTPUTS` of one step.

    Args:
      node: the NodeDef.
      gates: [batch, 4 * units], the gates before their activations.
      cs_prev: [batch, units], the state before.
      peepholes: weights from the state to the gates.
      forget_bias: added to the forget gate.
    """
    i, ci, f, o = _in_order(node, *tf.split(gates, 4, 1))
    i = tf.sigmoid(i + cs_prev * peepholes.i)
    f = tf.sigmoid(f + forget_bias + cs_prev * peepholes.f)
    ci = tf.tanh(ci)
    cs = ci * i + cs_prev * f
    clip = node.attr["cell_clip"].f
    if clip > 0:
        cs = tf.clip_by_value(cs, tf.constant(-clip, cs.dtype), tf.constant(clip, cs.dtype))
    o = tf.sigmoid(o + cs * peepholes.o)
    co = tf.tanh(cs)
    return [i, cs, f, o, ci, co, co * o]


def _lstm_step_gradient(
    node: Any,
    outputs: Sequence[tf.Tensor],
    cs_prev: tf.Tensor,
    peepholes: _Peepholes,
    cs_grad: tf.Tensor,
    h_grad: tf.Tensor,
) -> _Step:
    """Returns the gradients of one step; clipping of the state passes them on, as in TensorFlow's kernel.

    Args:
      node: the NodeDef.
      outputs: `_OUTPUTS` of the step, with or without h.
      cs_prev: the state before.
      peepholes: weights from the state to the gates.
      cs_grad: gradient of the state after.
      h_grad: gradient of h.
    """
    i, cs, f, o, ci, co = outputs[:6]
    d_o = o * (1 - o) * h_grad * co
    d_cs = (1 - co * co) * h_grad * o + cs_grad + d_o * peepholes.o
    d_ci = (1 - ci * ci) * d_cs * i
    d_f = f * (1 - f) * d_cs * cs_prev
    d_i = i * (1 - i) * d_cs * ci
    d_cs_prev = d_cs * f + d_i * peepholes.i + d_f * peepholes.f
    on = tf.cast(node.attr["use_peephole"].b, cs.dtype)
    sums = [on * tf.reduce_sum(product, 0) for product in (d_i * cs_prev, d_f * cs_prev, d_o * cs)]
    return _Step(d_cs_prev, tf.concat(_in_order(node, d_i, d_ci, d_f, d_o), 1), _Peepholes(*sums))


def lstm_cell(node: Any, inputs: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Returns the outputs of LSTMBlockCell."""
    x, cs_prev, h_prev, w, wci, wcf, wco, b = inputs
    gates = tf.matmul(tf.concat([x, h_prev], 1), w) + b
    return _lstm_step(node, gates, cs_prev, _peepholes(node, wci, wcf, wco), node.attr["forget_bias"].f)


def lstm_cell_gradient(node: Any, inputs: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Returns the outputs of LSTMBlockCellGrad."""
    _, cs_prev, _, _, wci, wcf, wco, _ = inputs[:8]
    step = _lstm_step_gradient(node, inputs[8:14], cs_prev, _peepholes(node, wci, wcf, wco), inputs[14], inputs[15])
    return [step.cs_prev, step.gates, *step.peepholes]


def lstm(node: Any, inputs: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Returns the outputs of BlockLSTM and BlockLSTMV2: zero from the longest sequence's end on."""
    length, x, cs_prev, h_prev, w, wci, wcf, wco, b = inputs
    length, peepholes = tf.cast(length, tf.int32), _peepholes(node, wci, wcf, wco)
    # V2 has no such attribute; its bias is in b.
    forget_bias = 0.0 if node.op.endswith("V2") else node.attr["forget_bias"].f

    def step(t: tf.Tensor, state: List[tf.Tensor]) -> Tuple[List[tf.Tensor], List[tf.Tensor]]:
        gates = tf.matmul(tf.concat([x[t], state[1]], 1), w) + b
        outputs = _lstm_step(node, gates, state[0], peepholes, forget_bias)
        return [outputs[1], outputs[6]], outputs

    _, rows = _loop(tf.range(length), [cs_prev, h_prev], len(_OUTPUTS), step)
    missing = tf.shape(x)[0] - length
    return [_with_zeros(row, missing) for row in rows]


def lstm_gradient(node: Any, inputs: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Returns the outputs of BlockLSTMGrad and BlockLSTMGradV2."""
    length, x, cs_prev, h_prev, w, wci, wcf, wco, b = inputs[:9]
    outputs, cs_grad, h_grad = inputs[9:16], inputs[16], inputs[17]
    length, peepholes = tf.cast(length, tf.int32), _peepholes(node, wci, wcf, wco)
    size = tf.shape(x)[2]
    cs_before = tf.concat([cs_prev[tf.newaxis], outputs[1]], 0)
    h_before = tf.concat([h_prev[tf.newaxis], outputs[6]], 0)

    def step(t: tf.Tensor, state: List[tf.Tensor]) -> Tuple[List[tf.Tensor], List[tf.Tensor]]:
        d_cs, d_h, d_w, d_wci, d_wcf, d_wco, d_b = state
        rows = [output[t] for output in outputs]
        one = _lstm_step_gradient(node, rows, cs_before[t], peepholes, cs_grad[t] + d_cs, h_grad[t] + d_h)
        d_xh = tf.matmul(one.gates, w, transpose_b=True)
        d_w += tf.matmul(tf.concat([x[t], h_before[t]], 1), one.gates, transpose_a=True)
        sums = [total + more for total, more in zip((d_wci, d_wcf, d_wco), one.peepholes)]
        return [one.cs_prev, d_xh[:, size:], d_w, *sums, d_b + tf.reduce_sum(one.gates, 0)], [d_xh[:, :size]]

    start = [tf.zeros_like(value) for value in (cs_prev, h_prev, w, wci, wcf, wco, b)]
    state, (d_x,) = _loop(tf.range(length - 1, -1, -1), start, 1, step)
    d_x = _with_zeros(tf.reverse(d_x, [0]), tf.shape(x)[0] - length)
    return [d_x, *state]


def gru_cell(node: Any, inputs: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Returns the outputs of GRUBlockCell: the gates r (reset) and u (update), the candidate c, and h."""
    x, h_prev, w_ru, w_c, b_ru, b_c = inputs
    r, u = tf.split(tf.sigmoid(tf.matmul(tf.concat([x, h_prev], 1), w_ru) + b_ru), 2, 1)
    c = tf.tanh(tf.matmul(tf.concat([x, h_prev * r], 1), w_c) + b_c)
    return [r, u, c, u * h_prev + (1 - u) * c]


def gru_cell_gradient(node: Any, inputs: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Returns the outputs of GRUBlockCellGrad: gradients of x and h_prev, and of c and the gates before activation."""
    x, h_prev, w_ru, w_c, _, _, r, u, c, d_h = inputs
    size = tf.shape(x)[1]
    d_c = d_h * (1 - u) * (1 - c * c)
    d_u = d_h * (h_prev - c) * u * (1 - u)
    d_x_hr = tf.matmul(d_c, w_c, transpose_b=True)
    d_hr = d_x_hr[:, size:]
    d_ru = tf.concat([d_hr * h_prev * r * (1 - r), d_u], 1)
    d_x_h = tf.matmul(d_ru, w_ru, transpose_b=True)
    return [d_x_hr[:, :size] + d_x_h[:, :size], d_x_h[:, size:] + d_hr * r + d_h * u, d_c, d_ru]


def _loop(
    times: tf.Tensor,
    start: List[tf.Tensor],
    count: int,
    step: Callable[[tf.Tensor, List[tf.Tensor]], Tuple[List[tf.Tensor], List[tf.Tensor]]],
) -> Tuple[List[tf.Tensor], List[tf.Tensor]]:
    """Runs steps one after the other.

    Args:
      times: int32 vector, the time of each step.
      start: the state before the first one.
      count: number of results of each step.
      step: function from a time and the state to the next state and the results.

    Returns:
      (the state after the last step, each result stacked over the steps).
    """
    size = tf.size(times)
    arrays = [tf.TensorArray(start[0].dtype, size, infer_shape=False) for _ in range(count)]

    def body(
        n: tf.Tensor, state: List[tf.Tensor], arrays: List[tf.TensorArray]
    ) -> Tuple[tf.Tensor, List[tf.Tensor], List[tf.TensorArray]]:
        state, results = step(times[n], state)
        return n + 1, state, [array.write(n, result) for array, result in zip(arrays, results)]

    shapes = [tf.TensorShape([]), [tf.TensorShape(None) for _ in start], [tf.TensorShape(None) for _ in arrays]]
    _, state, arrays = v1.while_loop(
        lambda n, *_: n < size, body, [tf.constant(0), start, arrays], shape_invariants=shapes, back_prop=False
    )
    return state, [array.stack() for array in arrays]


def _with_zeros(rows: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
    """Returns rows [time, batch, units] with `count` times of zeros after them."""
    return tf.concat([rows, tf.zeros(tf.stack([count, tf.shape(rows)[1], tf.shape(rows)[2]]), rows.dtype)], 0)
