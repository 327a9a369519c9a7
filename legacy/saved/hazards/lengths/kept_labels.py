"""Hazard of losses that count only where the label is one constant, as behind a mask of padding the wrong way round."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.cross_entropies import CrossEntropy, cross_entropies
from legacy.saved.hazards.basics.elements import key_of_elements, source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

_PASSES = ("Cast", "ExpandDims", "Identity", "Neg", "Reshape", "Squeeze", "StopGradient", "Sum", "Transpose")


def losses_of_one_label(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds cross entropies of whole numbers that only a mask label == c multiplies; one hazard for all."""
    for entropy in cross_entropies(whole):
        if entropy.is_sigmoid:
            continue
        kept = [_label_kept(whole, entropy, product) for product in only_users(whole, entropy.op)]
        if kept and None not in kept:
            yield Hazard(
                "LOSS_OF_ONE_LABEL",
                entropy.op,
                f"{entropy.op} counts only where its label is {kept[0]:g}, by a mask that multiplies it: every label "
                "that trains is the same, as where the mask keeps the padding and leaves the words out",
                "tf.not_equal in place of tf.equal, or one minus the mask; for parity keep it",
            )
            return


def only_users(whole: WholeGraph, name: str) -> list[str]:
    """Returns the nodes of the losses that use the elements of a node, past ops that only pass them on."""
    graph, todo = whole.graph, [name]
    found: list[str] = []
    while todo:
        for user in {use.node for use in graph.users(todo.pop()) if use.node in whole.minimized}:
            if is_gradient_op(user) or graph.type(user) in op_types.SHAPE_OPS:
                continue
            (todo if graph.type(user) in _PASSES else found).append(user)
    return found


def _label_kept(whole: WholeGraph, entropy: CrossEntropy, product: str) -> float | None:
    """The only label for which a factor of a cross entropy is not 0; None if the node is no such product."""
    graph = whole.graph
    if graph.type(product) != "Mul":
        return None
    labels = source_of_elements(graph, entropy.labels)
    if graph.type(labels.node) == "OneHot":
        labels = graph.inputs(labels.node)[0]
    for tensor in graph.inputs(product):
        found = _compared(whole, tensor)
        if found is not None and key_of_elements(graph, found[0]) == key_of_elements(graph, labels):
            return found[1]
    return None


def _compared(whole: WholeGraph, mask: TensorId) -> tuple[TensorId, float] | None:
    """(x, c) of a mask of ones where x == c; None of any other one."""
    graph, is_opposite = whole.graph, False
    while True:
        mask = source_of_elements(graph, mask)
        kind, inputs = graph.type(mask.node), graph.inputs(mask.node)
        if kind == "LogicalNot" or (kind == "Sub" and whole.value(inputs[0].node) == 1):
            mask, is_opposite = inputs[-1], not is_opposite
        else:
            break
    if kind != ("NotEqual" if is_opposite else "Equal"):
        return None
    for value, other in (inputs, inputs[::-1]):
        constant = whole.value(other.node)
        if constant is not None:
            return value, constant
    return None
