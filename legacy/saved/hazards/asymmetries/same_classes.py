"""Hazard of a loss that drives examples of one class apart: the distances to them have the wrong sign."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.signs.pushes import Pushes
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op


def same_classes_driven_apart(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds distances of pairs with equal labels on which a loss depends with a negative sign; one hazard for all."""
    graph, targets = whole.graph, minimized_targets(whole)
    pushes = None
    for name in [name for name in whole.minimized_ops("Mul") if not is_gradient_op(name)]:
        inputs = graph.inputs(name)
        for mask, distance in (inputs, inputs[::-1]):
            if not _is_of_equal_labels(whole, mask) or not _is_root(whole, distance.node):
                continue
            pushes = pushes or Pushes(whole, targets)
            if pushes.sign(TensorId(name, 0)) == -1:
                yield Hazard(
                    "SAME_CLASS_DRIVEN_APART",
                    name,
                    f"{name} has the distances {distance.node} of pairs with equal labels, and {targets[0]} falls "
                    "where they grow: examples of one class are driven apart",
                    "max(0, distance to the same class - that to another + margin); for parity keep it",
                )
                return


def _is_of_equal_labels(whole: WholeGraph, tensor: TensorId) -> bool:
    """Whether a tensor is 1 where two of the same labels are equal, perhaps without each example's pair with itself."""
    graph, name = whole.graph, source_of_elements(whole.graph, tensor).node
    if graph.type(name) == "LogicalAnd":
        inputs = graph.inputs(name)
        others = [one for one, other in (inputs, inputs[::-1]) if _is_of_none(whole, other)]
        return len(others) == 1 and _is_of_equal_labels(whole, others[0])
    if graph.type(name) != "Equal" or name not in whole.data:
        return False
    labels = {_of_labels(whole, given) for given in graph.inputs(name)}
    return len(labels) == 1 and not graph.ancestors([name], controls=False) & whole.trainable


def _of_labels(whole: WholeGraph, tensor: TensorId) -> TensorId:
    """The labels of which a tensor is a row or a column."""
    source = source_of_elements(whole.graph, tensor)
    while whole.graph.type(source.node) == "StridedSlice" and whole.graph.nodes[source.node].attr["new_axis_mask"].i:
        source = source_of_elements(whole.graph, whole.graph.inputs(source.node)[0])
    return source


def _is_of_none(whole: WholeGraph, tensor: TensorId) -> bool:
    """Whether a mask depends on no label, but on the number of examples alone."""
    before = whole.graph.ancestors([tensor.node], controls=False)
    return not any(whole.graph.type(name) in ("Equal", "NotEqual") for name in before)


def _is_root(whole: WholeGraph, name: str) -> bool:
    """Whether a node is a root of what weights compute, perhaps times another factor."""
    graph = whole.graph
    while graph.type(name) in ("Mul", "Identity", "Reshape"):
        roots = [tensor.node for tensor in graph.inputs(name) if _starts_with_root(whole, tensor.node)]
        if len(roots) != 1:
            return False
        name = roots[0]
    return graph.type(name) == "Sqrt" and bool(graph.ancestors([name], controls=False) & whole.trainable)


def _starts_with_root(whole: WholeGraph, name: str) -> bool:
    return whole.graph.type(source_of_elements(whole.graph, TensorId(name, 0)).node) in ("Sqrt", "Mul")
