"""Dropout: the ops that `tf.nn.dropout` made in each release of 1.x, and the functions written for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

import numpy as np

from legacy.saved.graph import op_types
from legacy.source.basics.expressions import call
from legacy.source.basics.match import Match

if TYPE_CHECKING:
    from legacy.source.basics.expressions import Expression
    from legacy.source.ops.view import OpView

#: {function: its text}: of the releases before 1.14, and of 1.14 and 1.15.
FUNCTIONS = {
    "dropout_by_keep_prob": [
        "def dropout_by_keep_prob(x, keep_prob, noise):",
        '    """Dropout of 1.x: keeps and scales the values where `noise`, uniform in [0, 1), is high."""',
        "    return x / keep_prob * tf.floor(keep_prob + noise)",
    ],
    "dropout_by_rate": [
        "def dropout_by_rate(x, rate, noise):",
        '    """Dropout of 1.14 and 1.15: keeps and scales the values where `noise`, uniform in [0, 1), is high."""',
        "    return x * (1.0 / (1.0 - rate)) * tf.cast(noise >= rate, tf.float32)",
    ],
}


def match_dropout(op: OpView) -> Optional[Match]:
    """Matches a product of scaled values and a mask made of random numbers: dropout of any release."""
    if op.dtype() != "float32":
        return None
    scaled, mask = op.producer(0), op.producer(1)
    if mask.type == "Floor" and scaled.type in op_types.DIVISIONS:
        return _by_keep_prob(op, scaled, mask.producer(0))
    if mask.type == "Cast" and scaled.type == "Mul" and mask.producer(0).type == "GreaterEqual":
        return _by_rate(op, scaled, mask.producer(0))
    return None


def _by_keep_prob(op: OpView, scaled: OpView, shifted: OpView) -> Optional[Match]:
    """Matches `x / keep_prob * floor(keep_prob + noise)`."""
    if shifted.type not in op_types.SUMS_OF_TWO or shifted.argument(0) != scaled.argument(1):
        return None
    found = call("dropout_by_keep_prob", scaled.argument(0), scaled.argument(1), shifted.argument(1))
    return Match((op.output,), found)


def _by_rate(op: OpView, scaled: OpView, compared: OpView) -> Optional[Match]:
    """Matches `x * scale * (noise >= rate)` with `scale = 1 / (1 - rate)`."""
    rate = _rate(scaled, compared)
    if rate is None:
        return None
    return Match((op.output,), call("dropout_by_rate", scaled.argument(0), rate, compared.argument(0)))


def _rate(scaled: OpView, compared: OpView) -> Optional[Expression]:
    """Returns the rate if the scale is made of it: by Python, by an op, or by ops that depend on what was fed."""
    scale, rate = scaled.constant(1), compared.constant(1)
    if scale is not None and rate is not None and rate.shape == ():
        if scale == np.float32(1.0 / (1.0 - float(str(rate)))):
            return compared.argument(1)
        by_op = np.float32(1) / (np.float32(1) - rate)
        return call("tf.constant", compared.argument(1)) if scale == by_op else None
    inverse = scaled.producer(1)
    kept = inverse.producer(1) if inverse.type in op_types.DIVISIONS else inverse
    if kept.type != "Sub" or kept.tensor(1) != compared.tensor(1):
        return None
    ones = [view.constant(0) for view in (inverse, kept)]
    return compared.argument(1) if all(one is not None and one == 1.0 for one in ones) else None
