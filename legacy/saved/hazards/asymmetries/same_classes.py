"""Hazard of a loss that drives examples of one class apart: the distances to them have the wrong sign."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from legacy.saved.hazards.signs.opposed_labels import is_distance
from legacy.saved.hazards.signs.pushes import Pushes
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op


def same_classes_driven_apart(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds distances of pairs with equal labels on which a loss depends with a negative sign; one hazard for all."""
    graph, targets = whole.graph, minimized_targets(whole)
    pushes = None
    for name in [name for name in whole.minimized_ops("Mul", "Select", "SelectV2") if not is_gradient_op(name)]:
        inputs = graph.inputs(name)[:2]  # where(mask, distance, 0), or a product of both
        for mask, distance in (inputs, inputs[::-1]) if graph.type(name) == "Mul" else (inputs,):
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


def labels_of_pairs_exchanged(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds terms of pairs with equal labels that fall with their distance, as hinges do; one hazard for all.

    So it is where y is 1 for different labels in y d^2 + (1 - y) max(0, m - d)^2.
    """
    graph, targets = whole.graph, minimized_targets(whole)
    pushes = None
    for name in [name for name in whole.minimized_ops("Mul") if not is_gradient_op(name)]:
        inputs = graph.inputs(name)
        for mask, term in (inputs, inputs[::-1]):
            if term.node not in made_by_weights(whole) or _are_equal(whole, mask) != 1:
                continue
            own = Pushes(whole, [term.node])
            before = graph.order(graph.ancestors([term.node], controls=False))
            distances = [node for node in before if is_distance(whole, node) and not is_gradient_op(node)]
            pushes = pushes or Pushes(whole, targets)
            falls = bool(distances) and own.sign(TensorId(distances[-1], 0)) == -1
            if falls and pushes.sign(TensorId(name, 0)) == 1:
                yield Hazard(
                    "SAME_CLASS_DRIVEN_APART",
                    name,
                    f"{name} has a term of pairs with equal labels that falls where their distance {distances[-1]} "
                    "grows, as a hinge does: examples of one class are driven apart",
                    "the hinge max(0, margin - distance) is for different labels; for parity keep it",
                )
                return


def _are_equal(whole: WholeGraph, tensor: TensorId) -> int:
    """1 of a mask that is 1 where two labels that data bring are equal, -1 of its opposite; 0 of anything else."""
    graph, name, sign = whole.graph, source_of_elements(whole.graph, tensor).node, 1
    while True:
        inputs = graph.inputs(name)
        if graph.type(name) == "Sub" and whole.value(inputs[0].node) == 1:
            name, sign = source_of_elements(graph, inputs[1]).node, -sign
        elif graph.type(name) == "LogicalNot":
            name, sign = source_of_elements(graph, inputs[0]).node, -sign
        else:
            break
    are_given = all(one.node in whole.data and one.node not in made_by_weights(whole) for one in inputs)
    kinds = {"Equal": sign, "NotEqual": -sign}
    return kinds.get(graph.type(name), 0) if are_given and name in whole.data else 0


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
    return not any(whole.graph.type(name) in op_types.EQUALITIES for name in before)


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
