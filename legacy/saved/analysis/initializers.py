"""Initializers of variables, recognised in the graph's own initialization ops."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Callable, Dict, NamedTuple, Optional, Tuple

import numpy as np
import tensorflow as tf

from legacy.saved.graph import op_types
from workloads.initializers import fans
from workloads.lifted.plan.initializers import CONSTANT, GLOROT, NORMAL, ORTHOGONAL, TRUNCATED_NORMAL, UNIFORM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workloads.lifted.graph import Graph

#: Initializers whose numbers are all multiplied where their values are.
_SCALE = (CONSTANT, NORMAL, ORTHOGONAL, TRUNCATED_NORMAL, UNIFORM)
#: {op that computes a number of others: its result}.
_COMPUTED: Dict[str, Callable[..., Any]] = {
    "Cast": lambda number: number,
    "Sqrt": np.sqrt,
    "Rsqrt": lambda number: 1 / np.sqrt(number),
    "Reciprocal": lambda number: 1 / number,
    **{kind: operator.truediv for kind in op_types.DIVISIONS},
    **{kind: operator.add for kind in op_types.SUMS_OF_TWO},
    "Mul": operator.mul,
    "Sub": operator.sub,
}
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
    if kind == "Mul" or kind in op_types.DIVISIONS:
        found = _orthogonal(whole, node) if kind == "Mul" else None
        return found or _times_number(whole, node, shape)
    return None


def _times_number(whole: Graph, node: str, shape: Sequence[int]) -> Optional[FoundInitializer]:
    """Returns the initializer of random numbers that ops scale by a number, as by `1 / tf.sqrt(n / 2.0)`."""
    first, second = (tensor.node for tensor in whole.inputs(node))
    is_product = whole.type(node) == "Mul"
    for values, factor in ((first, second), (second, first))[: 2 if is_product else 1]:
        number = _number(whole, factor)
        drawn = _drawn_by(whole, values, ()) if number is not None and number > 0 else None
        if number is not None and drawn is not None and drawn.kind in _SCALE:
            numbers = tuple(one * number if is_product else one / number for one in drawn.numbers)
            is_uniform = drawn.kind == UNIFORM
            return _limits(numbers[0], numbers[1], shape) if is_uniform else FoundInitializer(drawn.kind, numbers)
    return None


def _number(whole: Graph, node: str) -> Optional[Any]:
    """Returns the scalar that a node computes of constants; None of any other node."""
    kind, inputs = whole.type(node), whole.inputs(node)
    if kind not in _COMPUTED:
        value = _constant(whole, node)
        return value[()] if value is not None and value.shape == () and value.dtype.kind in "iuf" else None
    numbers = [_number(whole, tensor.node) for tensor in inputs]
    if any(number is None for number in numbers):
        return None
    with np.errstate(all="ignore"):
        return _in_dtype_of(whole, node, _COMPUTED[kind](*numbers))


def _in_dtype_of(whole: Graph, node: str, number: Any) -> Any:
    """Returns a number in the dtype of a node's result."""
    attributes = whole.nodes[node].attr
    dtype = attributes["DstT"].type if whole.type(node) == "Cast" else attributes["T"].type
    return tf.as_dtype(dtype).as_numpy_dtype(number) if dtype else number


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
    scale = _number(whole, factor)
    if whole.type(random) == "TruncatedNormal" and scale is not None and float(shift) == 0.0:
        return FoundInitializer(TRUNCATED_NORMAL, (scale,))
    if whole.type(random) == "RandomStandardNormal" and scale is not None:
        return FoundInitializer(NORMAL, (scale, shift[()]))
    return None


def _uniform(whole: Graph, width: str, low: Any, shape: Sequence[int]) -> Optional[FoundInitializer]:
    """Returns the initializer of numbers between `low` and `low + width`; `width` is the node of a difference."""
    high = _constant(whole, whole.inputs(width)[0].node) if whole.type(width) == "Sub" else None
    if high is None:
        return None
    return _limits(low, high[()], shape)


def _limits(low: Any, high: Any, shape: Sequence[int]) -> FoundInitializer:
    """Returns the initializer of numbers between two, which is Glorot's where they are his limits."""
    fan_in, fan_out = fans(shape)
    glorot = float(np.sqrt(6.0 / (fan_in + fan_out)))
    if abs(float(high) - glorot) < _NEAR * glorot and abs(float(low) + glorot) < _NEAR * glorot:
        return FoundInitializer(GLOROT)
    return FoundInitializer(UNIFORM, (low, high))


def _constant(whole: Graph, node: str) -> Optional[np.ndarray]:
    while whole.type(node) == "Identity":
        node = whole.inputs(node)[0].node
    if whole.type(node) != "Const":
        return None
    return np.asarray(tf.make_ndarray(whole.nodes[node].attr["value"].tensor))
