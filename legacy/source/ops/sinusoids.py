"""Tables of sines and cosines by which attention tells positions apart, written by their formula."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict

import numpy as np
import tensorflow as tf

from legacy.source.basics.expressions import Name, call

if TYPE_CHECKING:
    from legacy.source.basics.expressions import Expression

_NAME = "sinusoids"
#: {function: its text}.
FUNCTIONS = {
    _NAME: [
        f"def {_NAME}(positions, units, in_pairs):",
        '    """Returns a table of positions as sines and cosines; `in_pairs`: both of the same wavelength."""',
        "    unit = tf.range(units, dtype=tf.float64)",
        "    power = (unit - unit % 2 if in_pairs else 2 * unit) / units",
        "    angle = tf.range(positions, dtype=tf.float64)[:, tf.newaxis] / 10000.0**power",
        "    return tf.cast(tf.where(unit % 2 > 0, tf.cos(angle), tf.sin(angle)), tf.float32)",
    ]
}
#: Fewest rows and columns of such a table; of fewer, the numbers tell more.
LEAST_SIZE = 4


def sinusoids_expression(value: np.ndarray) -> Expression | None:
    """Returns the call that makes a table of positions with the same bits; None for another table.

    A column's wavelength is that of the pair of a sine and a cosine that it is in, or its own, as in many copies of
    the formula. The first row begins with the sine and the cosine of 0.

    Args:
      value: the table; it may have axes of one before its two.

    Returns:
      The call.
    """
    if value.dtype != np.float32 or value.ndim < 2 or min(value.shape[-2:]) < LEAST_SIZE or set(value.shape[:-2]) - {1}:
        return None
    positions, units = value.shape[-2:]
    table = value.reshape(positions, units)
    if table[0].tolist() != np.resize([0.0, 1.0], units).tolist():
        return None
    for in_pairs in (True, False):
        if _computed(positions, units, in_pairs).tobytes() == table.tobytes():
            made = call(_NAME, positions, units, in_pairs=Name(str(in_pairs)))
            return made if value.ndim == 2 else call("tf.reshape", made, list(value.shape))
    return None


def _computed(positions: int, units: int, in_pairs: bool) -> np.ndarray:
    """Returns what the written function gives."""
    space: Dict[str, Any] = {"tf": tf}
    exec("\n".join(FUNCTIONS[_NAME]), space)  # noqa: S102 - our own text
    with tf.Graph().as_default() as graph, tf.compat.v1.Session(graph=graph) as session, tf.device("CPU:0"):
        return np.asarray(session.run(space[_NAME](positions, units, in_pairs)))
