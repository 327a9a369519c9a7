"""Hazard of a decoder whose layer is joined with itself, and not with what the encoder hands over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import variable_read
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

_JOINS = {"Concat": slice(1, None), "ConcatV2": slice(None, -1)}
#: Ops that make images larger.
_UPSAMPLING = ("Conv2DBackpropInput", "ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "DepthToSpace")
#: Ops that a layer ends with, behind its product.
_ENDS = ("Identity", "BiasAdd", "Add", "AddV2", "Relu", "Elu", "LeakyRelu", "Relu6", "Maximum", "Mul")
_NORMALIZATIONS = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
_PASSES = ("Identity", "Pad", "PadV2", "MirrorPad")


def joined_with_themselves(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds upsampled images that are concatenated with themselves before a convolution; one hazard for all.

    The channels come twice, which the convolution's weights could say by their sum. Other vectors are left out: an
    author may repeat one to give it another's size. So are one channel, which is repeated for a layer of colours, and
    what a layer takes for a first estimate, which another use of its weights takes in the other's place.
    """
    graph = whole.graph
    for name in whole.minimized_ops(*_JOINS):
        parts = [graph.origin(part) for part in graph.inputs(name)[_JOINS[graph.type(name)]]]
        twice = [part for part in dict.fromkeys(parts) if parts.count(part) > 1]
        if not twice or is_gradient_op(name) or not _is_upsampled(graph, twice[0].node):
            continue
        layer = _layer_behind(whole, name)
        if layer and not _is_of_one_channel(graph, layer, parts) and not _joins_others_besides(whole, layer, name):
            yield Hazard(
                "JOINED_WITH_ITSELF",
                name,
                f"{name} joins {twice[0].node}, an enlarged image, with itself: the convolution behind it gets its "
                "channels twice, where a skip connection joins those of an earlier layer",
                "join what the encoder has at this size; for parity keep it",
            )
            return


def _is_upsampled(graph: Graph, name: str) -> bool:
    """Whether a node is the result of a layer that enlarges images."""
    while graph.type(name) in (*_ENDS, *_NORMALIZATIONS):
        name = graph.inputs(name)[0].node
    return graph.type(name) in _UPSAMPLING and not is_gradient_op(name)


def _layer_behind(whole: WholeGraph, name: str) -> str:
    """The convolution with trained weights that takes a node; "" if there is none."""
    todo = [name]
    while todo:
        for use in whole.graph.users(todo.pop()):
            kind = whole.graph.type(use.node)
            if (
                kind in ("Conv2D", "Conv2DBackpropInput")
                and use.node in whole.minimized
                and not is_gradient_op(use.node)
            ):
                return use.node
            if kind in _PASSES:
                todo.append(use.node)
    return ""


def _is_of_one_channel(graph: Graph, layer: str, parts: Sequence[TensorId]) -> bool:
    """Whether a convolution takes one channel, as often as parts are joined."""
    shape = graph.nodes.get(_kernel(graph, layer))
    sizes = [dim.size for dim in shape.attr["shape"].shape.dim] if shape is not None else []
    return len(set(parts)) == 1 and graph.type(layer) == "Conv2D" and sizes[2:3] == [len(parts)]


def _joins_others_besides(whole: WholeGraph, layer: str, joined: str) -> bool:
    """Whether another convolution of the tower by the same weights takes what joins different parts."""
    graph, kernel = whole.graph, _kernel(whole.graph, layer)
    for name in whole.minimized_ops(graph.type(layer)):
        is_other = name != layer and whole.labels.get(name) == whole.labels.get(layer) and not is_gradient_op(name)
        if kernel and is_other and _kernel(graph, name) == kernel:
            source = graph.inputs(name)[0].node
            while graph.type(source) in _PASSES:
                source = graph.inputs(source)[0].node
            if source != joined and graph.type(source) in _JOINS:
                parts = [graph.origin(part) for part in graph.inputs(source)[_JOINS[graph.type(source)]]]
                if len(set(parts)) == len(parts):
                    return True
    return False


def _kernel(graph: Graph, layer: str) -> str:
    return variable_read(graph, graph.inputs(layer)[1].node)
