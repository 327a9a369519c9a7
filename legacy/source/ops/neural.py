"""Writers of neural network ops: convolutions, pooling, normalization and losses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Sequence

import numpy as np

from legacy.source.basics.expressions import OMIT, call

if TYPE_CHECKING:
    from collections.abc import Callable

    from legacy.source.basics.expressions import Expression
    from legacy.source.ops.view import OpView

#: `tf.compat.v1.nn.fused_batch_norm` takes this in place of a smaller epsilon; the kernel takes any.
LEAST_EPSILON = np.float32(1.001e-5)
#: {function: its text}: for a smaller epsilon, and for a derivative that is computed in another way today.
FUNCTIONS = {
    "fused_batch_norm": [
        "def fused_batch_norm(x, scale, offset, epsilon):",
        '    """Normalizes [batch, height, width, channels] by its moments; returns the result, mean and variance."""',
        "    none = tf.constant([], tf.float32)  # tf.compat.v1.nn.fused_batch_norm has no epsilon below 1.001e-5",
        "    kernel = tf.raw_ops.FusedBatchNormV3",
        "    return kernel(x=x, scale=scale, offset=offset, mean=none, variance=none, epsilon=epsilon)[:3]",
    ],
    "softplus": [
        "@tf.custom_gradient",
        "def softplus(x):",
        '    """Softplus with the derivative of TensorFlow before 1.5, which rounds in another way."""',
        "    return tf.nn.softplus(x), lambda gradient: tf.raw_ops.SoftplusGrad(gradients=gradient, features=x)",
    ],
}
_POOLS = {"MaxPool": "tf.nn.max_pool2d", "AvgPool": "tf.nn.avg_pool2d"}
_POOLS.update({"MaxPool3D": "tf.nn.max_pool3d", "AvgPool3D": "tf.nn.avg_pool3d"})


def _plain(op: OpView) -> bool:
    """Returns whether an op has the layout NHWC, or NDHWC, and no explicit padding."""
    return op.attribute("data_format") in ("NHWC", "NDHWC") and op.attribute("padding") in ("SAME", "VALID")


def _sides(sizes: Sequence[int]) -> int | List[int]:
    """Returns what an attribute says of the sides of an image, or of a volume, as one number if all are equal."""
    sides = [int(size) for size in sizes[1:-1]]
    return sides[0] if len(set(sides)) == 1 else sides


def write_convolution(op: OpView) -> Expression | None:
    """Writes a 2-D convolution."""
    if not _plain(op):
        return None
    strides, dilations = _sides(op.attribute("strides")), _sides(op.attribute("dilations"))
    return call(
        "tf.nn.conv2d",
        *op.arguments(),
        strides=strides,
        padding=op.attribute("padding"),
        dilations=dilations if dilations != 1 else OMIT,
    )


def write_convolution_of_volumes(op: OpView) -> Expression | None:
    """Writes a 3-D convolution."""
    if not _plain(op):
        return None
    dilations = list(op.attribute("dilations"))
    return call(
        "tf.nn.conv3d",
        *op.arguments(),
        strides=list(op.attribute("strides")),
        padding=op.attribute("padding"),
        dilations=dilations if dilations != [1] * 5 else OMIT,
    )


def write_depthwise(op: OpView) -> Expression | None:
    """Writes a depthwise 2-D convolution."""
    if not _plain(op) or list(op.attribute("dilations")) != [1, 1, 1, 1]:
        return None
    return call(
        "tf.nn.depthwise_conv2d",
        *op.arguments(),
        strides=list(op.attribute("strides")),
        padding=op.attribute("padding"),
    )


def write_transposed_convolution(op: OpView) -> Expression | None:
    """Writes a transposed 2-D or 3-D convolution, which graphs hold as the gradient of a convolution."""
    if not _plain(op) or set(op.attribute("dilations")) != {1}:
        return None
    shape = op.output_sizes()
    return call(
        "tf.nn.conv2d_transpose" if op.type == "Conv2DBackpropInput" else "tf.nn.conv3d_transpose",
        op.argument(2),
        op.argument(1),
        op.argument(0) if shape is None else shape,
        strides=_sides(op.attribute("strides")),
        padding=op.attribute("padding"),
    )


def write_pool(op: OpView) -> Expression | None:
    """Writes a 2-D or 3-D pooling."""
    size = op.attribute("ksize")
    if not _plain(op) or size[0] != 1 or size[-1] != 1:
        return None
    return call(_POOLS[op.type], op.argument(0), _sides(size), _sides(op.attribute("strides")), op.attribute("padding"))


def write_response_norm(op: OpView) -> Expression | None:
    """Writes local response normalization."""
    values: Dict[str, Any] = {name: np.float32(op.attribute(name)) for name in ("bias", "alpha", "beta")}
    return call("tf.nn.local_response_normalization", op.argument(0), op.attribute("depth_radius"), **values)


def write_fused_batch_norm(op: OpView) -> Expression | None:
    """Writes the fused batch normalization, with the batch's own moments or with statistics that it is given."""
    if op.attribute("data_format") != "NHWC":
        return None
    epsilon = np.float32(op.attribute("epsilon"))
    small = epsilon < LEAST_EPSILON and op.dtype() == "float32"
    if not op.attribute("is_training"):
        given = dict(mean=op.argument(3), variance=op.argument(4), epsilon=epsilon, is_training=False)
        return None if small else call("tf.compat.v1.nn.fused_batch_norm", *op.arguments(0, 3), **given)
    if "exponential_avg_factor" in op.operation.node_def.attr and op.attribute("exponential_avg_factor") != 1.0:
        return None
    if small:
        return call("fused_batch_norm", *op.arguments(0, 3), epsilon)
    return call("tf.compat.v1.nn.fused_batch_norm", *op.arguments(0, 3), epsilon=epsilon)


def write_softplus(op: OpView) -> Expression | None:
    """Writes the softplus, with the derivative that the old gradients have."""
    return call("softplus" if op.has_old_derivative else "tf.nn.softplus", op.argument(0))


def write_sparse_cross_entropy(op: OpView) -> Expression | None:
    """Writes the softmax cross-entropy with class numbers."""
    return call("tf.nn.sparse_softmax_cross_entropy_with_logits", labels=op.argument(1), logits=op.argument(0))


def write_cross_entropy(op: OpView) -> Expression | None:
    """Writes the softmax cross-entropy with distributions."""
    return call("tf.nn.softmax_cross_entropy_with_logits", labels=op.argument(1), logits=op.argument(0))


def write_bias(op: OpView) -> Expression | None:
    """Writes the addition of biases to the channels."""
    layout = op.attribute("data_format") if op.type == "BiasAdd" else "NHWC"
    return call("tf.nn.bias_add", *op.arguments(), data_format=OMIT if layout == "NHWC" else layout)


def write_blocks(op: OpView) -> Expression | None:
    """Writes a move of channels to space, or back."""
    function = "tf.nn.depth_to_space" if op.type == "DepthToSpace" else "tf.nn.space_to_depth"
    layout = op.attribute("data_format")
    size = int(op.attribute("block_size"))
    return call(function, op.argument(0), size, data_format=OMIT if layout == "NHWC" else layout)


def write_top(op: OpView) -> Expression | None:
    """Writes whether targets are among the k most likely."""
    k = op.constant(2)
    return None if k is None else call("tf.math.in_top_k", op.argument(1), op.argument(0), int(k))


def write_largest(op: OpView) -> Expression | None:
    """Writes the k largest entries of each row, and their places."""
    known = op.constant(1)
    k = op.argument(1) if known is None else int(known)
    return call("tf.math.top_k", op.argument(0), k, sorted=OMIT if op.operation.get_attr("sorted") else False)


#: {op: function of `tf.compat.v1.image`}.
_RESIZES = {
    "ResizeArea": "resize_area",
    "ResizeBicubic": "resize_bicubic",
    "ResizeBilinear": "resize_bilinear",
    "ResizeNearestNeighbor": "resize_nearest_neighbor",
}


def write_resize(op: OpView) -> Expression | None:
    """Writes a resize of 1.x, whose kernels are those of `tf.compat.v1.image`."""
    size = op.constant(1)
    if size is None:
        return None
    corners = True if op.attribute("align_corners") else OMIT
    centers = (
        True if "half_pixel_centers" in op.operation.node_def.attr and op.attribute("half_pixel_centers") else OMIT
    )
    return call(
        "tf.compat.v1.image." + _RESIZES[op.type],
        op.argument(0),
        [int(n) for n in size],
        align_corners=corners,
        half_pixel_centers=centers,
    )


WRITERS: Dict[str, Callable[[OpView], Expression | None]] = {
    "AvgPool": write_pool,
    "AvgPool3D": write_pool,
    "BiasAdd": write_bias,
    "BiasAddV1": write_bias,
    "Conv2D": write_convolution,
    "Conv2DBackpropInput": write_transposed_convolution,
    "Conv3DBackpropInputV2": write_transposed_convolution,
    "Conv3D": write_convolution_of_volumes,
    "DepthToSpace": write_blocks,
    "DepthwiseConv2dNative": write_depthwise,
    "FusedBatchNorm": write_fused_batch_norm,
    "FusedBatchNormV2": write_fused_batch_norm,
    "FusedBatchNormV3": write_fused_batch_norm,
    "InTopK": write_top,
    "InTopKV2": write_top,
    "LRN": write_response_norm,
    "MaxPool": write_pool,
    "MaxPool3D": write_pool,
    **dict.fromkeys(_RESIZES, write_resize),
    "SoftmaxCrossEntropyWithLogits": write_cross_entropy,
    "Softplus": write_softplus,
    "SpaceToDepth": write_blocks,
    "TopKV2": write_largest,
    "SparseSoftmaxCrossEntropyWithLogits": write_sparse_cross_entropy,
}
