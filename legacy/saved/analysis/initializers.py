"""Initializers of variables, recognised in the graph's own initialization ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Tuple

import numpy as np
import tensorflow as tf

from legacy.saved.graph import op_types
from workloads.initializers import fans
from workloads.lifted.plan.initializers import CONSTANT, GLOROT, NORMAL, ORTHOGONAL, TRUNCATED_NORMAL, UNIFORM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workloads.lifted.graph import Graph

#: Relative difference within which a limit is Glorot's.
_NEAR = 1e-5


class FoundInitializer(NamedTuple):
    """An initializer.

    Attributes:
      kind: `CONSTANT`, `TRUNCATED_NORMAL`, `NORMAL`, `UNIFORM`, `ORTHOGONAL` or `GLOROT`.
      numbers: the constant; the gain; the standard deviation before truncation; standard deviation and mean; lowest and
        highest value; each in the graph's dtype.
    """

    kind: str
    numbers: Tuple[Any, ...] = ()

    def __str__(self) -> str:
        """The text in a lift's plan.

        >>> str(FoundInitializer(CONSTANT, (np.float32(0.1),))), str(FoundInitializer(GLOROT))
        ('constant 0.1', 'glorot_uniform')
        """
        return " ".join([self.kind, *map(str, self.numbers)])


def find_initializer(whole: Graph, variable: str, shape: Sequence[int]) -> Optional[FoundInitializer]:
    """Finds the initializer of a variable.

    Args:
      whole: the whole graph, with the ops that initialize.
      variable: its name.
      shape: its shape.

    Returns:
      The initializer; None if the graph has none, or one that is not known here.
    """
    if variable not in whole.nodes:
        return None
    assigns = [use.node for use in whole.users(variable) if use.position == 0 and whole.type(use.node) in op_types.SETS]
    own = [node for node in assigns if node.startswith(variable)] or assigns
    return _drawn_by(whole, whole.inputs(own[0])[1].node, shape) if own else None


def _drawn_by(whole: Graph, node: str, shape: Sequence[int]) -> Optional[FoundInitializer]:
    """Returns the initializer whose value a node computes."""
    while whole.type(node) in op_types.COPIES:
        node = whole.inputs(node)[0].node
    kind = whole.type(node)
    if kind == "Const":
        value = _constant(whole, node)
        filled = value is not None and value.size and (value == value.flat[0]).all()
        return FoundInitializer(CONSTANT, (value.flat[0],)) if value is not None and filled else None
    if kind == "Fill":
        value = _constant(whole, whole.inputs(node)[1].node)
        return None if value is None else FoundInitializer(CONSTANT, (value[()],))
    if kind in op_types.SUMS_OF_TWO:
        return _scaled(whole, node, shape)
    return _orthogonal(whole, node) if kind == "Mul" else None


def _orthogonal(whole: Graph, node: str) -> Optional[FoundInitializer]:
    """Returns the initializer `gain * reshape(q)` of the orthogonal factor of a normal matrix, with the signs of r."""
    factor, shaped = (tensor.node for tensor in whole.inputs(node))
    gain = _constant(whole, factor)
    if gain is None or gain.shape != () or whole.type(shaped) != "Reshape":
        return None
    signed = whole.inputs(shaped)[0].node
    signed = whole.inputs(signed)[0].node if whole.type(signed) == "Transpose" else signed
    if whole.type(signed) != "Mul":
        return None
    made, signs = whole.inputs(signed)
    if whole.type(made.node) != "Qr" or made.output != 0 or whole.type(signs.node) != "Sign":
        return None
    drawn = _drawn_by(whole, whole.inputs(made.node)[0].node, ())
    is_normal = drawn is not None and drawn.kind == NORMAL and float(drawn.numbers[1]) == 0.0
    return FoundInitializer(ORTHOGONAL, (gain[()],)) if is_normal else None


def _scaled(whole: Graph, node: str, shape: Sequence[int]) -> Optional[FoundInitializer]:
    """Returns the initializer `random * scale + offset`."""
    product, offset = (tensor.node for tensor in whole.inputs(node))
    shift = _constant(whole, offset)
    if whole.type(product) != "Mul" or shift is None or shift.shape != ():
        return None
    random, factor = (tensor.node for tensor in whole.inputs(product))
    if whole.type(random) == "RandomUniform":
        return _uniform(whole, factor, shift[()], shape)
    scale = _constant(whole, factor)
    if whole.type(random) == "TruncatedNormal" and scale is not None and float(shift) == 0.0:
        return FoundInitializer(TRUNCATED_NORMAL, (scale[()],))
    if whole.type(random) == "RandomStandardNormal" and scale is not None:
        return FoundInitializer(NORMAL, (scale[()], shift[()]))
    return None


def _uniform(whole: Graph, width: str, low: Any, shape: Sequence[int]) -> Optional[FoundInitializer]:
    """Returns the initializer of numbers between `low` and `low + width`; `width` is the node of a difference."""
    high = _constant(whole, whole.inputs(width)[0].node) if whole.type(width) == "Sub" else None
    if high is None:
        return None
    fan_in, fan_out = fans(shape)
    glorot = float(np.sqrt(6.0 / (fan_in + fan_out)))
    if abs(float(high) - glorot) < _NEAR * glorot and abs(float(low) + glorot) < _NEAR * glorot:
        return FoundInitializer(GLOROT)
    return FoundInitializer(UNIFORM, (low, high[()]))


def _constant(whole: Graph, node: str) -> Optional[np.ndarray]:
    while whole.type(node) == "Identity":
        node = whole.inputs(node)[0].node
    if whole.type(node) != "Const":
        return None
    return np.asarray(tf.make_ndarray(whole.nodes[node].attr["value"].tensor))
