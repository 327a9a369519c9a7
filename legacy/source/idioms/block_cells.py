"""LSTM cells that are one op, LSTMBlockCell, and the functions written for them: TensorFlow 2 has no gradient of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Optional

import numpy as np

from legacy.source.basics.expressions import Listing, Literal, call
from legacy.source.basics.match import Match
from legacy.source.basics.old_derivatives import OLD_DERIVATIVE

if TYPE_CHECKING:
    from legacy.source.ops.view import OpView

#: The type of the cells, which are written as functions with a gradient of their own.
BLOCK_CELL = "LSTMBlockCell"
#: Outputs of LSTMBlockCell that are its next state.
_BLOCK_C, _BLOCK_H = 1, 6


def _peephole_cell(name: str, gradient: str, given: str) -> List[str]:
    """Returns the text of the function of an LSTMBlockCell with peepholes.

    Args:
      name: of the function.
      gradient: words for its gradient.
      given: arguments of the gradient's op that are other ones than the cell's.

    Returns:
      The lines.
    """
    return [
        f"def {name}(x, c, h, kernel, peepholes, bias, forget_bias, cell_clip):",
        f'    """Runs the one op of LSTMBlockCell, {gradient}; returns the next state (c, h)."""',
        "",
        "    @tf.custom_gradient",
        "    def cell(x, c, h, kernel, of_i, of_f, of_o, bias):",
        "        given = dict(x=x, cs_prev=c, h_prev=h, w=kernel, wci=of_i, wcf=of_f, wco=of_o, b=bias)",
        "        rest = dict(forget_bias=forget_bias, cell_clip=cell_clip, use_peephole=True)",
        "        made = tf.raw_ops.LSTMBlockCell(**given, **rest)",
        "",
        "        def gradient(of_c, of_h):",
        '            known = {name: getattr(made, name) for name in ("i", "cs", "f", "o", "ci", "co")}',
        f"            known.update({given}cs_grad=of_c, h_grad=of_h, use_peephole=True)",
        "            found = tf.raw_ops.LSTMBlockCellGrad(**{**given, **known})",
        "            gates = found.dicfo",
        "            of_both = tf.matmul(gates, kernel, transpose_b=True)",
        "            of_x, of_h = tf.split(of_both, [x.shape[1], h.shape[1]], axis=1)",
        "            of_kernel = tf.matmul(tf.concat([x, h], axis=1), gates, transpose_a=True)",
        "            of_peepholes = (found.wci_grad, found.wcf_grad, found.wco_grad)",
        "            of_bias = tf.raw_ops.BiasAddGrad(out_backprop=gates)",
        "            return of_x, found.cs_prev_grad, of_h, of_kernel, *of_peepholes, of_bias",
        "",
        "        return (made.cs, made.h), gradient",
        "",
        "    return cell(x, c, h, kernel, *peepholes, bias)",
    ]


#: Functions of an LSTMBlockCell with peepholes: with the gradient of 1.x, and with that of 1.4 and before.
_PEEPHOLES, _EXCHANGED = "lstm_block_cell_with_peepholes", "lstm_block_cell_with_exchanged_peepholes"

#: {function: its text}.
FUNCTIONS = {
    _PEEPHOLES: _peephole_cell(_PEEPHOLES, "with its gradient of 1.x", ""),
    _EXCHANGED: _peephole_cell(
        _EXCHANGED, "whose gradient takes the peepholes of f and o for each other", "wcf=of_o, wco=of_f, "
    ),
    "lstm_block_cell": [
        "def lstm_block_cell(x, c, h, kernel, bias, forget_bias, cell_clip):",
        '    """Runs the one op of LSTMBlockCell, with its gradient of 1.x; returns the next state (c, h)."""',
        "    none = tf.zeros([h.shape[1]])  # weights of peepholes",
        "",
        "    @tf.custom_gradient",
        "    def cell(x, c, h, kernel, bias):",
        "        given = dict(x=x, cs_prev=c, h_prev=h, w=kernel, wci=none, wcf=none, wco=none, b=bias)",
        "        made = tf.raw_ops.LSTMBlockCell(**given, forget_bias=forget_bias, cell_clip=cell_clip)",
        "",
        "        def gradient(of_c, of_h):",
        '            known = {name: getattr(made, name) for name in ("i", "cs", "f", "o", "ci", "co")}',
        "            rest = dict(cs_grad=of_c, h_grad=of_h, use_peephole=False)",
        "            found = tf.raw_ops.LSTMBlockCellGrad(**given, **known, **rest)",
        "            gates = found.dicfo",
        "            of_both = tf.matmul(gates, kernel, transpose_b=True)",
        "            of_x, of_h = tf.split(of_both, [x.shape[1], h.shape[1]], axis=1)",
        "            of_kernel = tf.matmul(tf.concat([x, h], axis=1), gates, transpose_a=True)",
        "            return of_x, found.cs_prev_grad, of_h, of_kernel, tf.raw_ops.BiasAddGrad(out_backprop=gates)",
        "",
        "        return (made.cs, made.h), gradient",
        "",
        "    return cell(x, c, h, kernel, bias)",
    ],
}


def match_lstm_block_cell(op: OpView) -> Optional[Match]:
    """Matches an LSTM cell that is one op, of which the next state alone is used."""
    outputs = op.operation.outputs
    others = [tensor for number, tensor in enumerate(outputs) if number not in (_BLOCK_C, _BLOCK_H)]
    if any(tensor.consumers() for tensor in others):
        return None
    x, c, h, kernel, bias = (op.argument(position) for position in (0, 1, 2, 3, 7))
    attributes = [Literal(np.float32(op.attribute(name))) for name in ("forget_bias", "cell_clip")]
    targets = (outputs[_BLOCK_C].name, outputs[_BLOCK_H].name)
    if op.attribute("use_peephole"):
        function = _EXCHANGED if OLD_DERIVATIVE in op.operation.node_def.attr else _PEEPHOLES
        peepholes = Listing(tuple(op.argument(position) for position in (4, 5, 6)))
        return Match(targets, call(function, x, c, h, kernel, peepholes, bias, *attributes))
    return Match(targets, call("lstm_block_cell", x, c, h, kernel, bias, *attributes))
