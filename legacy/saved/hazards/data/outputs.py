"""Hazard of the towers' outputs: joined in another order than that of the parts that the towers took."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Ops that compare outputs with labels, example by example.
_COMPARISONS = (
    "Sub",
    "Mul",
    "SquaredDifference",
    "SoftmaxCrossEntropyWithLogits",
    "SparseSoftmaxCrossEntropyWithLogits",
)
_SPLITS = ("Split", "SplitV", "Unpack")


def outputs_in_another_order(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses that compare joined outputs of towers with labels of the whole batch, in another order."""
    graph = whole.graph
    for name in whole.minimized_ops(*_COMPARISONS):
        if is_gradient_op(name) or len(graph.inputs(name)) != 2:
            continue
        first, second = (source_of_elements(graph, tensor) for tensor in graph.inputs(name))
        for joined, labels in ((first, second), (second, first)):
            parts = _parts(whole, joined)
            if parts and parts != sorted(parts) and _is_whole(whole, labels):
                order = ", ".join(map(str, parts))
                yield Hazard(
                    "INPUTS_NOT_PAIRED",
                    joined.node,
                    f"{name} compares {joined.node}, the outputs for parts {order} of the batch in this order, with "
                    f"{labels.node} in the order of the batch: labels are of other examples",
                    "join the outputs in the order of the parts; for parity keep the order",
                )
                return


def _parts(whole: WholeGraph, joined: TensorId) -> list[int]:
    """The part of a batch that each of some joined tensors is computed from, each of another tower; [] if unknown."""
    graph = whole.graph
    inputs = [tensor.node for tensor in graph.inputs(joined.node)]
    if graph.type(joined.node) not in op_types.JOINS or whole.count < 2 or len(inputs) != whole.count + 1:
        return []
    axis = inputs.pop(0 if graph.type(joined.node) == "Concat" else -1)
    if whole.value(axis) != 0:
        return []
    found: list[int] = []
    for name in inputs:
        before = graph.ancestors([name], set(graph.of_types(*_SPLITS)), controls=False)
        taken = {
            tensor.output
            for node in before
            if graph.type(node) not in _SPLITS
            for tensor in graph.inputs(node)
            if graph.type(tensor.node) in _SPLITS and tensor.node in whole.data
        }
        if len(taken) != 1:
            return []
        found += taken
    return found if sorted(found) == list(range(whole.count)) else []


def _is_whole(whole: WholeGraph, tensor: TensorId) -> bool:
    """Whether a tensor is what a source of data brings, in its order."""
    kind = whole.graph.type(tensor.node)
    if kind == "OneHot":
        return _is_whole(whole, source_of_elements(whole.graph, whole.graph.inputs(tensor.node)[0]))
    return op_types.is_source(kind)
