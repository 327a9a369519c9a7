"""Initializers of variables, recognised in the graph's own initialization ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Optional

import numpy as np
import tensorflow as tf

from workloads.initializers import fans
from workloads.lifted.plan.initializers import CONSTANT, GLOROT, TRUNCATED_NORMAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workloads.lifted.graph import Graph

_ASSIGNS = ("Assign", "AssignVariableOp")
_COPIES = ("Identity", "Cast")
#: Relative difference within which a limit is Glorot's.
_NEAR = 1e-5


class FoundInitializer(NamedTuple):
    """An initializer.

    Attributes:
      kind: `CONSTANT`, `TRUNCATED_NORMAL` or `GLOROT`.
      number: the constant, or the standard deviation before truncation, in the graph's dtype; None of `GLOROT`.
    """

    kind: str
    number: Any = None

    def __str__(self) -> str:
        """The text in a lift's plan.

        >>> str(FoundInitializer(CONSTANT, np.float32(0.1))), str(FoundInitializer(GLOROT))
        ('constant 0.1', 'glorot_uniform')
        """
        return self.kind if self.number is None else f"{self.kind} {self.number!s}"


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
    assigns = [use.node for use in whole.users(variable) if use.position == 0 and whole.type(use.node) in _ASSIGNS]
    own = [node for node in assigns if node.startswith(variable)] or assigns
    return _drawn_by(whole, whole.inputs(own[0])[1].node, shape) if own else None


def _drawn_by(whole: Graph, node: str, shape: Sequence[int]) -> Optional[FoundInitializer]:
    """Returns the initializer whose value a node computes."""
    while whole.type(node) in _COPIES:
        node = whole.inputs(node)[0].node
    kind = whole.type(node)
    if kind == "Const":
        value = _constant(whole, node)
        filled = value is not None and value.size and (value == value.flat[0]).all()
        return FoundInitializer(CONSTANT, value.flat[0]) if value is not None and filled else None
    if kind == "Fill":
        value = _constant(whole, whole.inputs(node)[1].node)
        return None if value is None else FoundInitializer(CONSTANT, value[()])
    if kind in ("Add", "AddV2"):
        return _scaled(whole, node, shape)
    return None


def _scaled(whole: Graph, node: str, shape: Sequence[int]) -> Optional[FoundInitializer]:
    """Returns the initializer `random * scale + offset`."""
    product, offset = (tensor.node for tensor in whole.inputs(node))
    shift = _constant(whole, offset)
    if whole.type(product) != "Mul" or shift is None or shift.shape != ():
        return None
    random, factor = (tensor.node for tensor in whole.inputs(product))
    kind = whole.type(random)
    if kind == "TruncatedNormal" and float(shift) == 0.0:
        scale = _constant(whole, factor)
        return None if scale is None else FoundInitializer(TRUNCATED_NORMAL, scale[()])
    if kind == "RandomUniform" and whole.type(factor) == "Sub":
        high, low = (_constant(whole, tensor.node) for tensor in whole.inputs(factor))
        if high is None or low is None:
            return None
        fan_in, fan_out = fans(shape)
        glorot = float(np.sqrt(6.0 / (fan_in + fan_out)))
        if abs(float(high) - glorot) < _NEAR * glorot and abs(float(low) + glorot) < _NEAR * glorot:
            return FoundInitializer(GLOROT)
    return None


def _constant(whole: Graph, node: str) -> Optional[np.ndarray]:
    while whole.type(node) == "Identity":
        node = whole.inputs(node)[0].node
    if whole.type(node) != "Const":
        return None
    return np.asarray(tf.make_ndarray(whole.nodes[node].attr["value"].tensor))
