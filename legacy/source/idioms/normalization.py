"""Idioms of normalizations: moments, batch normalization, rows of length 1, and tensors of a bounded norm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

import numpy as np

from legacy.saved.graph import op_types
from legacy.source.basics.expressions import OMIT, Literal, call
from legacy.source.basics.match import Match

if TYPE_CHECKING:
    from legacy.source.basics.expressions import Expression
    from legacy.source.ops.view import OpView

#: The epsilon of `tf.nn.l2_normalize`.
_L2_EPSILON = np.float32(1e-12)
#: {function: its text}.
FUNCTIONS = {
    "clip_by_inverse_norm": [
        "def clip_by_inverse_norm(x, limit):",
        '    """`tf.clip_by_norm` of TensorFlow up to 1.4, which multiplies by an inverse and has other bits."""',
        "    inverse = tf.math.rsqrt(tf.reduce_sum(x * x, keepdims=True))",
        "    return x * limit * tf.minimum(inverse, tf.constant(1.0) / limit)",
    ],
}


def match_batch_normalization(op: OpView) -> Optional[Match]:
    """Matches `x * m + (beta - mean * m)` with `m = rsqrt(variance + epsilon) * gamma`: batch normalization."""
    product, offset = op.producer(0), op.producer(1)
    if product.type != "Mul" or offset.type != "Sub" or offset.producer(1).type != "Mul":
        return None
    shifted = offset.producer(1)
    if product.tensor(1) != shifted.tensor(1):
        return None
    factor = product.producer(1)
    scale: Expression = Literal(None)
    root = factor
    if factor.type == "Mul":
        root, scale = factor.producer(0), factor.argument(1)
    if root.type != "Rsqrt" or root.producer(0).type not in op_types.SUMS_OF_TWO:
        return None
    variance = root.producer(0)
    if variance.constant(1) is None:
        return None
    expression = call(
        "tf.nn.batch_normalization",
        product.argument(0),
        shifted.argument(0),
        variance.argument(0),
        offset.argument(0),
        scale,
        variance.argument(1),
    )
    return Match((op.output,), expression)


def match_moments(op: OpView) -> Optional[Match]:
    """Matches mean and variance over the same axes: `tf.nn.moments`, with its squeezes where they are there."""
    variance = op.producer(0) if op.type == "Squeeze" else op
    if variance.type != "Mean" or variance.producer(0).type != "SquaredDifference":
        return None
    difference = variance.producer(0)
    mean = _behind_stop(difference, 1)
    axes = variance.constant(1)
    if mean is None or mean.type != "Mean" or axes is None:
        return None
    others = mean.constant(1)
    if mean.tensor(0) != difference.tensor(0) or others is None or not np.array_equal(axes, others):
        return None
    if not variance.attribute("keep_dims") or not mean.attribute("keep_dims"):
        return None
    keep = op.type != "Squeeze"
    mean_output = mean.output if keep else _squeezed(mean, op)
    if mean_output is None:
        return None
    over = [int(axis) for axis in np.atleast_1d(axes)]
    expression = call("tf.nn.moments", difference.argument(0), over, keepdims=True if keep else OMIT)
    return Match((mean_output, op.output), expression)


def _behind_stop(op: OpView, position: int) -> Optional[OpView]:
    """Returns the producer of an input behind a StopGradient; None if there is no StopGradient."""
    stop = op.producer(position)
    return stop.producer(0) if stop.type == "StopGradient" else None


def _squeezed(mean: OpView, like: OpView) -> Optional[str]:
    """Returns the tensor that is the mean squeezed as the variance is, if the graph has one."""
    for user in mean.operation.outputs[0].consumers():
        same = user.type == "Squeeze" and list(user.get_attr("squeeze_dims")) == like.attribute("squeeze_dims")
        if same:
            return str(user.outputs[0].name)
    return None


def match_l2_normalize(op: OpView) -> Optional[Match]:
    """Matches `x * rsqrt(maximum(sum(square(x)), epsilon))` as `tf.nn.l2_normalize`, which makes the same ops."""
    root = op.producer(1)
    if root.type != "Rsqrt" or root.uses() > 1 or root.producer(0).type != "Maximum":
        return None
    least = root.producer(0)
    total, epsilon = least.producer(0), least.constant(1)
    if total.type != "Sum" or epsilon is None or epsilon.shape != () or least.uses() > 1 or total.uses() > 1:
        return None
    axes, square = total.constant(1), total.producer(0)
    same = square.type == "Square" and square.uses() == 1 and square.tensor(0) == op.tensor(0)
    if not same or axes is None or not total.attribute("keep_dims"):
        return None
    given = OMIT if epsilon == _L2_EPSILON else epsilon[()]
    axis = axes.item() if axes.size == 1 else [int(one) for one in axes]
    return Match((op.output,), call("tf.nn.l2_normalize", op.argument(0), axis=axis, epsilon=given))


def match_norm(op: OpView) -> Optional[Match]:
    """Matches `squeeze(sqrt(sum(x * x)))` as `tf.norm`, which makes the same ops."""
    root = op.producer(0)
    total = root.producer(0) if root.type == "Sqrt" else root
    if total.type != "Sum" or not total.attribute("keep_dims") or root.uses() > 1 or total.uses() > 1:
        return None
    square, axes, shape = total.producer(0), total.constant(1), total.shape(0)
    if (
        square.type != "Mul"
        or square.tensor(0) != square.tensor(1)
        or square.uses() > 1
        or axes is None
        or shape is None
    ):
        return None
    over = [int(axis) % len(shape) for axis in np.ravel(axes)]
    is_whole, squeezed = len(over) == len(shape), [int(axis) % len(shape) for axis in op.attribute("squeeze_dims")]
    if root.type != "Sqrt" or sorted(squeezed) not in ([[], sorted(over)] if is_whole else [sorted(over)]):
        return None
    axis = OMIT if is_whole else over[0] if len(over) == 1 else over
    return Match((op.output,), call("tf.norm", square.argument(0), axis=axis))


def match_clip_by_inverse_norm(op: OpView) -> Optional[Match]:
    """Matches `x * limit * minimum(rsqrt(sum(x * x)), 1 / limit)`, which `tf.clip_by_norm` made up to 1.4."""
    scaled, least = op.producer(0), op.producer(1)
    if op.dtype() != "float32" or scaled.type != "Mul" or least.type != "Minimum":
        return None
    root, limit = least.producer(0), scaled.tensor(1)
    if root.type != "Rsqrt" or not _is_sum_of_squares(root.producer(0), scaled.tensor(0)):
        return None
    if scaled.shape(1) != [] or not _is_inverse(least, scaled.constant(1), limit):
        return None
    return Match((op.output,), call("clip_by_inverse_norm", scaled.argument(0), scaled.argument(1)))


def match_clip_by_norm(op: OpView) -> Optional[Match]:
    """Matches `x * limit / maximum(norm, limit)`, with a norm that is differentiable at 0, as `tf.clip_by_norm`."""
    scaled, most = op.producer(0), op.producer(1)
    if op.dtype() != "float32" or scaled.type != "Mul" or most.type != "Maximum" or scaled.shape(1) != []:
        return None
    if scaled.tensor(1) != most.tensor(1):
        one, two = scaled.constant(1), most.constant(1)
        if one is None or two is None or one != two:
            return None
    norm = most.producer(0)
    if norm.type not in op_types.CHOICES or norm.producer(1).type != "Sqrt" or norm.producer(0).type != "Greater":
        return None
    total, inner = norm.producer(2), norm.producer(1).producer(0)
    is_positive = norm.producer(0).tensor(0) == norm.tensor(2) and norm.producer(0).constant(1) == 0
    if not is_positive or inner.type not in op_types.CHOICES or inner.tensor(0) != norm.tensor(0):
        return None
    if inner.tensor(1) != norm.tensor(2) or not _is_sum_of_squares(total, scaled.tensor(0)):
        return None
    ones = inner.value(2)
    if inner.producer(2).type != "OnesLike" and (ones is None or not np.all(ones == 1)):
        return None
    return Match((op.output,), call("tf.clip_by_norm", scaled.argument(0), scaled.argument(1)))


def _is_sum_of_squares(total: OpView, tensor: str) -> bool:
    """Returns whether an op adds up the squares of all elements of a tensor."""
    if total.type != "Sum":
        return False
    square, axes, shape = total.producer(0), total.constant(1), total.shape(0)
    if square.type == "Square":
        is_square = square.tensor(0) == tensor
    else:
        is_square = square.type == "Mul" and square.tensor(0) == square.tensor(1) == tensor
    return is_square and axes is not None and shape is not None and axes.size == len(shape)


def _is_inverse(least: OpView, limit: np.ndarray | None, tensor: str) -> bool:
    """Returns whether the second input of an op is 1 divided by a limit, a number or a tensor."""
    inverse = least.constant(1)
    if inverse is not None:
        return limit is not None and inverse.shape == () and inverse == np.float32(1) / np.float32(limit)
    quotient = least.producer(1)
    return quotient.type in op_types.DIVISIONS and quotient.constant(0) == 1 and quotient.tensor(1) == tensor
