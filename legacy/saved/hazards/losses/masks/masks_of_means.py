"""Hazard of a mask that multiplies a mean over all positions, in place of the losses of the positions."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.elements import choice_by_code, source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from legacy.saved.hazards.losses.masks.counts import WEIGHTS
from legacy.saved.hazards.losses.masks.masked_losses import ANSWERS, ELEMENTWISE
from workloads.lifted.tensors.gradient_names import is_gradient_op


def masked_after_the_mean(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds a mean over all positions that a mask or weights of data multiply, before it is added up; one for all."""
    graph = whole.graph
    for name in whole.minimized_ops("Sum", "Mean"):
        product = source_of_elements(graph, graph.inputs(name)[0]).node
        inputs = graph.inputs(product) if graph.type(product) == "Mul" and not is_gradient_op(name) else []
        for one, other in zip(inputs, reversed(inputs)):
            mean, mask = graph.origin(other).node, source_of_elements(graph, one).node
            is_mask = (graph.type(mask) in ANSWERS and mask in whole.data) or _is_given(whole, mask)
            is_mask = is_mask or _is_looked_up(whole, mask)
            if is_mask and _is_of_all(whole, _sum_of_mean(whole, mean)):
                yield Hazard(
                    "MASK_OF_A_MEAN",
                    product,
                    f"{product} multiplies {mean}, which is one number, a mean over all positions, by {mask}: no "
                    "position is left out, or weighted by its own number",
                    "multiply what the mean is taken of; for parity keep it",
                )
                return


def means_of_weights(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds a mean over all positions times the mean of fed weights, mean(l) mean(w) for mean(l w); one for all.

    The numbers are called weights or masks: the mean of others, such as rewards, may be meant.
    """
    graph = whole.graph
    for name in [name for name in whole.minimized_ops("Mul") if not is_gradient_op(name)]:
        for one, other in (graph.inputs(name), graph.inputs(name)[::-1]):
            mean, average = graph.origin(one).node, graph.origin(other).node
            if graph.type(average) != "Mean" or not _is_of_all(whole, _sum_of_mean(whole, mean)):
                continue
            weights = source_of_elements(graph, graph.inputs(average)[0]).node
            sources = {node for node in graph.ancestors([weights]) if op_types.is_source(graph.type(node))}
            if _is_given(whole, weights) and all(WEIGHTS.search(source) for source in sources):
                yield Hazard(
                    "MASK_OF_A_MEAN",
                    name,
                    f"{name} multiplies {mean}, a mean over all positions, by {average}, the mean of their weights "
                    f"{weights}: no position is weighted by its own number",
                    "multiply what the mean is taken of; for parity keep it",
                )
                return


def _sum_of_mean(whole: WholeGraph, mean: str) -> str:
    """A mean itself; of a sum that is divided by a number without weights in it, as `tf.losses` does, the sum."""
    graph = whole.graph
    while graph.type(mean) in op_types.CHOICES:  # of the quotient or 0, up to TensorFlow 1.12
        mean = graph.origin(graph.inputs(mean)[1]).node
    if graph.type(mean) not in op_types.QUOTIENTS:
        return mean
    shapes = set(graph.of_types(*op_types.SHAPE_OPS))
    if graph.ancestors([graph.inputs(mean)[1].node], shapes, controls=False) & whole.trainable:
        return mean
    total = graph.origin(graph.inputs(mean)[0]).node
    if graph.type(total) != "Sum":
        return mean
    before = graph.origin(graph.inputs(total)[0]).node
    return before if graph.type(before) == "Sum" else total  # `tf.losses` adds a sum up once more


def _is_of_all(whole: WholeGraph, mean: str) -> bool:
    """Whether a node is a mean or sum of what weights compute over all dimensions: one of the axes 0, 1, and so on."""
    graph = whole.graph
    if graph.type(mean) not in op_types.REDUCTIONS:
        return False
    axes = constant_array(graph, graph.inputs(mean)[1].node)
    if axes is None or axes.ndim != 1 or axes.tolist() != list(range(len(axes))):
        return False
    if graph.nodes[mean].attr["keep_dims"].b:
        return False
    losses = source_of_elements(graph, graph.inputs(mean)[0]).node
    losses = losses if graph.type(losses) != "Neg" else source_of_elements(graph, graph.inputs(losses)[0]).node
    is_of_positions = graph.type(losses).endswith("SoftmaxCrossEntropyWithLogits") or len(axes) > 1
    is_of_positions = is_of_positions or _is_of_rows(whole, losses)
    return is_of_positions and bool(graph.ancestors([losses], controls=False) & whole.trainable)


def _is_of_rows(whole: WholeGraph, errors: str) -> bool:
    """Whether a node has a number for each row: it is computed, element by element, of one class of each row."""
    graph, todo, seen = whole.graph, [errors], {errors}
    while todo:
        name = todo.pop()
        if _adds_classes(whole, name):
            return True
        if graph.type(name) in ELEMENTWISE:
            before = {graph.origin(tensor).node for tensor in graph.inputs(name)} - seen
            seen |= before
            todo += before
    return False


def _adds_classes(whole: WholeGraph, total: str) -> bool:
    """Whether a node adds up the classes of rows that one-hot codes multiply."""
    if choice_by_code(whole.graph, total) is None:
        return False
    axes = constant_array(whole.graph, whole.graph.inputs(total)[1].node)
    return axes is not None and axes.ravel().tolist() in ([1], [-1])


def _is_looked_up(whole: WholeGraph, name: str) -> bool:
    """Whether a node holds the weights that a table, which nothing trains, has for labels that data bring."""
    graph = whole.graph
    if graph.type(name) not in op_types.LOOKUPS or name not in whole.data:
        return False
    labels = graph.inputs(name)[1].node
    return labels in whole.data and name not in made_by_weights(whole)


def _is_given(whole: WholeGraph, name: str) -> bool:
    """Whether a node holds numbers that data bring for each example, such as weights; not one number for all."""
    graph, is_part = whole.graph, False
    while graph.type(name) in op_types.PARTS:
        is_part = True
        name = graph.inputs(name)[op_types.divided_input(graph.type(name))].node
    attributes = graph.nodes[name].attr
    recorded = attributes["_output_shapes"].list.shape
    shape = recorded[0] if recorded else attributes["shape"].shape
    return (
        op_types.is_source(graph.type(name))
        and name in whole.data
        and (is_part or any(dim.size != 1 for dim in shape.dim))
    )
