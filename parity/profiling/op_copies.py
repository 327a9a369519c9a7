"""Copies of a graph's ops on made-up values of the same shapes, to be run by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

v1 = tf.compat.v1

#: (type of op, number of its result) of results that only GPU kernels use; a CPU's are empty.
EMPTY_RESULTS = frozenset({("FusedBatchNormV3", 5)})  # reserve_space_3


class FloorUnknown(Exception):
    """An op of the graph cannot be run by itself; the message says why."""


def copy_of(op: tf.Operation, inputs: Sequence[tf.Tensor]) -> tf.Operation:
    """Adds an op of the same type and attributes with other inputs to the current graph."""
    graph = tf.compat.v1.get_default_graph()
    attributes = {name: value for name, value in op.node_def.attr.items() if not name.startswith("_")}
    types = [tensor.dtype.base_dtype for tensor in op.outputs]
    return graph.create_op(op.type, list(inputs), types, attrs=attributes, name="product")


def stand_in(tensor: tf.Tensor, values: dict[Any, tf.Tensor], device: str) -> tf.Tensor:
    """Returns a tensor of the same shape and type in the current graph.

    The constant itself where the value says a shape; zeros for other whole numbers; else random values.

    Args:
      tensor: of the other graph.
      values: the stand-ins so far, which are shared by all tensors of a device, type and shape.
      device: name of the device.

    Returns:
      the stand-in.

    Raises:
      FloorUnknown: the shape is not known before the graph runs.
    """
    constant = _known_value(tensor)
    if constant is not None:
        return tf.constant(constant, tensor.dtype.base_dtype)
    if (tensor.op.type, tensor.value_index) in EMPTY_RESULTS:
        return tf.zeros([0], tensor.dtype.base_dtype)
    if not tensor.shape.is_fully_defined():
        raise FloorUnknown(f"{tensor.op.name}: its shape {tensor.shape} is not known before the graph runs")
    key = (device, tensor.dtype.base_dtype, tuple(tensor.shape))
    if key not in values:
        made = v1.random_normal(key[2], dtype=key[1], seed=0) if key[1].is_floating else tf.zeros(key[2], key[1])
        variable = v1.get_variable(f"value{len(values)}", dtype=key[1], initializer=made, use_resource=True)
        values[key] = variable.read_value()
    return values[key]


def _known_value(tensor: tf.Tensor) -> Any:
    """The value of a tensor that says a shape, such as that of a convolution's gradient; None for any other."""
    if tensor.dtype.is_floating:
        return None
    if tensor.op.type in ("Shape", "ShapeN"):
        return tensor.op.inputs[tensor.value_index].shape.as_list()
    return tf.get_static_value(tensor)
