"""Rewrites convolutions, pooling and batch normalization from the layout NCHW to NHWC.

Every device has kernels for NHWC, a CPU often no others. Each such node is computed in NHWC between two transpositions.
The last of them has the node's name, so that every tensor that the old graph names keeps its name, its shape and its
value. BiasAdd has kernels for both layouts everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from legacy.saved.graph.graph_file import SavedGraph
from workloads.lifted.graph import Graph, TensorId, input_text

if TYPE_CHECKING:
    from tensorflow.core.framework.graph_pb2 import GraphDef
    from tensorflow.core.framework.node_def_pb2 import NodeDef

v1 = tf.compat.v1

#: {layout with channels first: (its dimensions in the order of channels last, and back)}.
ORDERS = {"NCHW": ([0, 2, 3, 1], [0, 3, 1, 2]), "NCDHW": ([0, 2, 3, 4, 1], [0, 4, 1, 2, 3])}
#: The layout with channels last of each.
CHANNELS_LAST = {"NCHW": b"NHWC", "NCDHW": b"NDHWC"}
#: Attributes with a number for each dimension; explicit paddings have two.
_LISTS = ("strides", "ksize", "dilations", "explicit_paddings")


class _Images(NamedTuple):
    """The parts of an op that have a layout.

    Attributes:
      inputs: numbers of the inputs that are images.
      sizes: numbers of the inputs that hold the sizes of images.
      output: whether the first output is images.
    """

    inputs: tuple[int, ...]
    sizes: tuple[int, ...] = ()
    output: bool = True


_FORWARD, _TO_INPUT, _TO_FILTER = _Images((0,)), _Images((2,), (0,)), _Images((0, 2), output=False)
OPS = {
    "Conv2D": _FORWARD,
    "Conv2DBackpropInput": _TO_INPUT,
    "Conv2DBackpropFilter": _TO_FILTER,
    "DepthwiseConv2dNative": _FORWARD,
    "DepthwiseConv2dNativeBackpropInput": _TO_INPUT,
    "DepthwiseConv2dNativeBackpropFilter": _TO_FILTER,
    "Conv3D": _FORWARD,
    "Conv3DBackpropInputV2": _TO_INPUT,
    "Conv3DBackpropFilterV2": _TO_FILTER,
    "MaxPool": _FORWARD,
    "MaxPoolGrad": _Images((0, 1, 2)),
    "MaxPool3D": _FORWARD,
    "MaxPool3DGrad": _Images((0, 1, 2)),
    "AvgPool": _FORWARD,
    "AvgPoolGrad": _Images((1,), (0,)),
    "AvgPool3D": _FORWARD,
    "AvgPool3DGrad": _Images((1,), (0,)),
    "FusedBatchNorm": _FORWARD,
    "FusedBatchNormV2": _FORWARD,
    "FusedBatchNormV3": _FORWARD,
    "FusedBatchNormGrad": _Images((0, 1)),
    "FusedBatchNormGradV2": _Images((0, 1)),
    "FusedBatchNormGradV3": _Images((0, 1)),
}


def channels_first(graph: Graph) -> list[str]:
    """Returns the nodes that compute in a layout with channels first, for which a CPU has no kernels."""
    return [name for name, node in graph.nodes.items() if node.op in OPS and _layout(node) in ORDERS]


def as_requested(saved: SavedGraph, layout: str | None) -> SavedGraph:
    """Returns a saved graph in the layout that the user asked for: "NHWC", or None for the graph's own."""
    return saved._replace(graph=Graph(with_channels_last(saved.graph_def))) if layout else saved


def with_channels_last(graph_def: GraphDef) -> GraphDef:
    """Returns a graph whose convolutions, pooling and batch normalization compute in NHWC (NDHWC).

    Args:
      graph_def: the graph; it is not changed. Bodies of functions stay as they are.

    Returns:
      A new GraphDef; its other nodes are copies.
    """
    graph = Graph(graph_def)
    conditional = graph.frames() | graph.branches()
    result = v1.GraphDef(versions=graph_def.versions, library=graph_def.library)
    for node in graph_def.node:
        if node.op in OPS and _layout(node) in ORDERS:
            _Rewriting(result, graph, node, node.name in conditional).add()
        else:
            result.node.add().CopyFrom(node)
    return result


def _layout(node: NodeDef) -> str:
    return node.attr["data_format"].s.decode("utf-8") if "data_format" in node.attr else ""


class _Rewriting:
    """The nodes that replace one node.

    Args:
      result: the GraphDef that they are added to.
      graph: the graph that the node is taken from.
      node: the node.
      conditional: whether it is inside a loop or a branch, where its constants must then be, too.
    """

    def __init__(self, result: GraphDef, graph: Graph, node: NodeDef, conditional: bool) -> None:
        self._result, self._node, self._conditional = result, node, conditional
        self._inputs, self._controls = graph.inputs(node.name), graph.controls(node.name)
        self._to_last, self._to_first = ORDERS[_layout(node)]
        self._dtype = node.attr["T"].type

    def add(self) -> None:
        """Adds them."""
        node, images = self._node, OPS[self._node.op]
        core = self._result.node.add()
        core.CopyFrom(node)
        core.name = node.name + "/channels_last"
        texts = [input_text(tensor) for tensor in self._inputs]
        for number in images.inputs:
            texts[number] = self._transposed(f"input_{number}", self._inputs[number], self._to_last)
        for number in images.sizes:
            texts[number] = self._reordered(f"size_{number}", self._inputs[number])
        core.input[:] = texts + ["^" + control for control in self._controls]
        core.attr["data_format"].s = CHANNELS_LAST[_layout(node)]
        for name in [name for name in _LISTS if name in node.attr]:
            pairs = np.reshape(node.attr[name].list.i, [-1, 2 if name == "explicit_paddings" else 1])
            core.attr[name].list.i[:] = pairs[self._to_last].ravel().tolist() if len(pairs) else []
        self._add_outputs(TensorId(core.name, 0), images.output)

    def _add_outputs(self, core: TensorId, is_images: bool) -> None:
        """Adds the node that has the old one's name and outputs."""
        node = self._node
        count = len(op_def_registry.get(node.op).output_arg)
        if count == 1 and is_images:
            self._transposed("", core, self._to_first)
            return
        outputs = [TensorId(core.node, number) for number in range(count)]
        texts = [input_text(output) for output in outputs]
        if is_images:
            texts[0] = self._transposed("output_0", core, self._to_first)
        made = self._new("", "IdentityN", texts)
        others = node.attr["U"].type if "U" in node.attr else self._dtype
        made.attr["T"].list.type.extend([self._dtype] + [others] * (count - 1))

    def _transposed(self, label: str, tensor: TensorId, order: list[int]) -> str:
        """Adds a transposition; returns its name."""
        made = self._new(label, "Transpose", [input_text(tensor), self._order(label, tensor, order)])
        made.attr["T"].type = self._dtype
        made.attr["Tperm"].type = tf.int32.as_datatype_enum
        return made.name

    def _reordered(self, label: str, sizes: TensorId) -> str:
        """Adds the sizes of images in the order of channels last; returns its name."""
        made = self._new(label, "Gather", [input_text(sizes), self._order(label, sizes, self._to_last)])
        made.attr["Tparams"].type = self._node.attr["Tshape"].type if "Tshape" in self._node.attr else 3
        made.attr["Tindices"].type = tf.int32.as_datatype_enum
        return made.name

    def _order(self, label: str, tensor: TensorId, order: list[int]) -> str:
        """Adds the constant order of dimensions; returns its name."""
        controls = ["^" + tensor.node] if self._conditional else []
        made = self._new(f"{label or 'output'}_order", "Const", controls)
        made.attr["dtype"].type = tf.int32.as_datatype_enum
        made.attr["value"].tensor.CopyFrom(v1.make_tensor_proto(order, tf.int32))
        return made.name

    def _new(self, label: str, op_type: str, inputs: list[str]) -> NodeDef:
        """Adds a node placed where the old one is; without a label it has its name."""
        name = f"{self._node.name}/{label}" if label else self._node.name
        made = self._result.node.add(name=name, op=op_type, device=self._node.device, input=inputs)
        if "_class" in self._node.attr:
            made.attr["_class"].CopyFrom(self._node.attr["_class"])
        return made
