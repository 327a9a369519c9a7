"""Writers of arithmetic: operators, functions of one tensor, reductions, products and choices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict

import numpy as np

from legacy.source.basics.expressions import OMIT, Infix, Listing, Literal, Name, Prefix, call
from legacy.source.ops.constants import USUAL
from workloads.lifted.graph.sums import FEWEST_IN_ANY_ORDER

if TYPE_CHECKING:
    from collections.abc import Callable

    from legacy.source.basics.expressions import Expression
    from legacy.source.ops.view import OpView

#: {op type: operator}.
INFIX = {
    "Add": "+",
    "AddV2": "+",
    "Sub": "-",
    "Mul": "*",
    "RealDiv": "/",
    "FloorDiv": "//",
    "FloorMod": "%",
    "Pow": "**",
    "Greater": ">",
    "GreaterEqual": ">=",
    "Less": "<",
    "LessEqual": "<=",
    "LogicalAnd": "&",
    "LogicalOr": "|",
}
#: {op type: function of its inputs, in their order}.
FUNCTIONS = {
    "Abs": "tf.abs",
    "Acos": "tf.acos",
    "Acosh": "tf.acosh",
    "Asin": "tf.asin",
    "Asinh": "tf.asinh",
    "Atan": "tf.atan",
    "Atan2": "tf.atan2",
    "Atanh": "tf.atanh",
    "Betainc": "tf.math.betainc",
    "Ceil": "tf.math.ceil",
    "Cos": "tf.cos",
    "Cosh": "tf.cosh",
    "Diag": "tf.linalg.tensor_diag",
    "DiagPart": "tf.linalg.tensor_diag_part",
    "Digamma": "tf.math.digamma",
    "DivNoNan": "tf.math.divide_no_nan",
    "Elu": "tf.nn.elu",
    "Equal": "tf.equal",
    "Erf": "tf.math.erf",
    "Erfc": "tf.math.erfc",
    "Exp": "tf.exp",
    "Expm1": "tf.math.expm1",
    "Floor": "tf.floor",
    "Igamma": "tf.math.igamma",
    "Igammac": "tf.math.igammac",
    "IsFinite": "tf.math.is_finite",
    "IsInf": "tf.math.is_inf",
    "IsNan": "tf.math.is_nan",
    "L2Loss": "tf.nn.l2_loss",
    "Lgamma": "tf.math.lgamma",
    "Log": "tf.math.log",
    "Log1p": "tf.math.log1p",
    "LogicalNot": "tf.logical_not",
    "LogSoftmax": "tf.nn.log_softmax",
    "MatrixDiag": "tf.linalg.diag",
    "MatrixDiagPart": "tf.linalg.diag_part",
    "Maximum": "tf.maximum",
    "Minimum": "tf.minimum",
    "NotEqual": "tf.not_equal",
    "OnesLike": "tf.ones_like",
    "Polygamma": "tf.math.polygamma",
    "Reciprocal": "tf.math.reciprocal",
    "Relu": "tf.nn.relu",
    "Relu6": "tf.nn.relu6",
    "Rint": "tf.math.rint",
    "Round": "tf.round",
    "Rsqrt": "tf.math.rsqrt",
    "Selu": "tf.nn.selu",
    "Sigmoid": "tf.sigmoid",
    "Sign": "tf.sign",
    "Sin": "tf.sin",
    "Sinh": "tf.sinh",
    "Softmax": "tf.nn.softmax",
    "Softsign": "tf.nn.softsign",
    "Sqrt": "tf.sqrt",
    "Square": "tf.square",
    "SquaredDifference": "tf.math.squared_difference",
    "StopGradient": "tf.stop_gradient",
    "Tan": "tf.tan",
    "Tanh": "tf.tanh",
    "TruncateDiv": "tf.truncatediv",
    "TruncateMod": "tf.truncatemod",
    "Xlogy": "tf.math.xlogy",
    "ZerosLike": "tf.zeros_like",
    "Zeta": "tf.math.zeta",
}
#: {op type: function of a tensor, `axis` and `keepdims`}.
REDUCTIONS = {
    "All": "tf.reduce_all",
    "Any": "tf.reduce_any",
    "Max": "tf.reduce_max",
    "Mean": "tf.reduce_mean",
    "Min": "tf.reduce_min",
    "Prod": "tf.reduce_prod",
    "Sum": "tf.reduce_sum",
}

#: Rank of the largest terms that are stacked to be added: losses of examples, and no images.
_MOST_DIMENSIONS = 1
#: {function: its text}, of an op that has another derivative, or another order of additions, today.
OLD_FUNCTIONS = {
    "add_in_order": [
        "def add_in_order(terms):",
        '    """Adds the terms of a loss in their order; the gradient gets to all at once, as by `tf.add_n`."""',
        "    return tf.cumsum(tf.stack(terms))[-1]",
    ],
    "divide": [
        "@tf.custom_gradient",
        "def divide(x, y):",
        '    """Returns x / y, with the derivative of TensorFlow 0.12, which rounds in another way."""',
        "",
        "    def derivatives(gradient):",
        "        axes = tf.raw_ops.BroadcastGradientArgs(s0=tf.shape(x), s1=tf.shape(y))",
        "        of_x = tf.reduce_sum(gradient / y, axes.r0)",
        "        of_y = tf.reduce_sum(gradient * (-x / tf.square(y)), axes.r1)",
        "        return tf.reshape(of_x, tf.shape(x)), tf.reshape(of_y, tf.shape(y))",
        "",
        "    return x / y, derivatives",
    ],
}


def write_infix(op: OpView) -> Expression | None:
    """Writes an op that has an operator; of two numbers of Python none is left, as they were folded."""
    return Infix(INFIX[op.type], *op.arguments())


def write_function(op: OpView) -> Expression | None:
    """Writes an op that is a function of its inputs; numbers of examples alone become floats where those are meant."""
    arguments = op.arguments()
    values = [op.value(position) for position in range(len(arguments))]
    if all(value is not None and not value.shape for value in values) and op.dtype().startswith("float"):
        arguments = [one if isinstance(one, Literal) else call("float", one) for one in arguments]
    if len(arguments) > 1 and isinstance(arguments[0], Literal) and op.dtype(0) == "int64":
        arguments = [call("tf.constant", arguments[0], Name("tf.int64")), *arguments[1:]]  # not int32, as 0 is
    return call(FUNCTIONS[op.type], *arguments)


def write_einsum(op: OpView) -> Expression | None:
    """Writes a sum of products by its equation."""
    return call("tf.einsum", str(op.attribute("equation")), *op.arguments())


def write_negation(op: OpView) -> Expression | None:
    """Writes `-x`."""
    return Prefix("-", op.argument(0))


def write_reduction(op: OpView) -> Expression | None:
    """Writes a reduction over constant axes; `axis` is left out where all are meant."""
    axes, rank = op.constant(1), op.shape(0)
    if axes is None:
        return None
    if rank is None:
        kept = True if op.attribute("keep_dims") else OMIT
        listed = [int(axis) for axis in np.atleast_1d(axes)]
        return call(REDUCTIONS[op.type], op.argument(0), axis=_axis(listed), keepdims=kept) if axes.size else None
    wanted = [int(axis) % max(1, len(rank)) for axis in np.atleast_1d(axes)]
    keep = op.attribute("keep_dims")
    if not wanted:
        return op.argument(0)
    everything = sorted(wanted) == list(range(len(rank)))
    axis = OMIT if everything else _axis(wanted)
    return call(REDUCTIONS[op.type], op.argument(0), axis=axis, keepdims=True if keep else OMIT)


def _axis(axes: list[int]) -> Literal:
    return Literal(axes[0] if len(axes) == 1 else axes)


def write_product(op: OpView) -> Expression | None:
    """Writes a matrix product."""
    plain = op.type == "MatMul"
    names = ("transpose_a", "transpose_b") if plain else ("adj_x", "adj_y")
    flags = {new: True for old, new in zip(names, ("transpose_a", "transpose_b")) if op.attribute(old)}
    return call("tf.matmul", *op.arguments(0, 2), **flags)


def write_sum_of_list(op: OpView) -> Expression | None:
    """Writes the sum of a list of tensors, added in their order.

    `tf.add_n` begins with the tensor whose memory it may use, and adds more than eight in groups. A chain of additions
    hands the gradient on to the last term first. Where that would add gradients in another order, a loss is a sum by
    one op, `add_in_order`, and a larger tensor stays a `tf.add_n`.
    """
    parts = op.arguments()
    if len(parts) == 1:
        return parts[0]
    terms = Listing(tuple(parts))
    if len(parts) <= FEWEST_IN_ANY_ORDER:
        return call("tf.add_n", terms)
    if not any(op.orders_gradients(position) for position in range(len(parts))):
        return call("sum", terms)
    shape = op.output_shape()
    is_loss = shape is not None and len(shape) <= _MOST_DIMENSIONS and op.dtype().startswith("float")
    return call("add_in_order" if is_loss else "tf.add_n", terms)


def write_cast(op: OpView) -> Expression | None:
    """Writes a conversion to another dtype."""
    return call("tf.cast", op.argument(0), Name("tf." + op.operation.outputs[0].dtype.base_dtype.name))


def write_choice(op: OpView) -> Expression | None:
    """Writes an elementwise choice; 1.x's also chose rows by a vector, which needs its shape widened."""
    condition, taken = op.shape(0), op.shape(1)
    if op.type == "Select" and (condition is None or condition != taken):
        if condition is None or taken is None:
            return call("tf.compat.v1.where", *op.arguments())
        if condition != []:
            widened = call("tf.reshape", op.argument(0), [-1] + [1] * (len(taken) - 1))
            return call("tf.where", widened, *op.arguments(1))
    return call(
        "tf.where", op.argument(0), *(_one_number(op, position) or op.argument(position) for position in (1, 2))
    )


def _one_number(op: OpView, position: int) -> Expression | None:
    """Returns the number that all entries of a constant input are, if the op's other values have its shape."""
    value = op.constant(position)
    if value is None or value.dtype.name not in USUAL or not value.ndim or op.constant(3 - position) is not None:
        return None
    if op.shape(3 - position) != list(value.shape) or value.tobytes() != value.flat[:1].tobytes() * value.size:
        return None
    return Literal(value.flat[0])


def write_leaky_relu(op: OpView) -> Expression | None:
    """Writes a leaky rectifier."""
    return call("tf.nn.leaky_relu", op.argument(0), alpha=np.float32(op.attribute("alpha")))


def write_quotient(op: OpView) -> Expression | None:
    """Writes a quotient of TensorFlow before 1.0, with the derivative that the old gradients have."""
    if not op.dtype().startswith("float"):
        return None
    return call("divide", *op.arguments()) if op.has_old_derivative else Infix("/", *op.arguments())


def write_arg_extreme(op: OpView) -> Expression | None:
    """Writes the index of the largest or smallest entry."""
    axis = op.constant(1)
    if axis is None:
        return None
    function = "tf.argmax" if op.type == "ArgMax" else "tf.argmin"
    dtype = op.operation.outputs[0].dtype.name
    kind = Name("tf." + dtype) if dtype != "int64" else OMIT
    return call(function, op.argument(0), axis=int(axis), output_type=kind)


WRITERS: Dict[str, Callable[[OpView], Expression | None]] = {
    **{name: write_infix for name in INFIX},
    **{name: write_function for name in FUNCTIONS},
    **{name: write_reduction for name in REDUCTIONS},
    "AddN": write_sum_of_list,
    "ArgMax": write_arg_extreme,
    "ArgMin": write_arg_extreme,
    "BatchMatMul": write_product,
    "BatchMatMulV2": write_product,
    "Cast": write_cast,
    "Div": write_quotient,
    "Einsum": write_einsum,
    "LeakyRelu": write_leaky_relu,
    "MatMul": write_product,
    "Neg": write_negation,
    "Select": write_choice,
    "SelectV2": write_choice,
}
