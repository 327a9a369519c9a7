"""Hazard of losses that are divided by a number of objects, or of chosen examples, that can be 0."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.conditions import predicates_of
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

_CHOICES = ("Equal", "Greater", "GreaterEqual")
_COPIES = ("Cast", "Identity", "Reshape", "ExpandDims", "Squeeze", "LogicalAnd", "Switch")


def counts_that_may_be_zero(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses divided by the number of objects, or examples, that a comparison or a mask chooses; one for all.

    A number of words, or of pixels that are not ignored, is hardly 0; that of objects is, for a batch of background,
    and so is that of the examples with a label.
    """
    graph = whole.graph
    for name in whole.minimized_ops("RealDiv", "Div"):
        total, count = (graph.before_branches(tensor).node for tensor in graph.inputs(name)[:2])
        while graph.type(count) in ("Cast", "Identity", "Switch"):
            count = graph.inputs(count)[0].node
        if is_gradient_op(name) or graph.type(count) != "Sum":
            continue
        chosen = graph.inputs(count)[0].node
        while graph.type(chosen) in _COPIES:
            chosen = graph.inputs(chosen)[0].node
        before = graph.ancestors([total], controls=False)
        is_of_images = any(graph.type(node) == "Conv2D" and not is_gradient_op(node) for node in before)
        given = graph.ancestors([chosen], controls=False)
        is_choice = graph.type(chosen) in _CHOICES and (is_of_images or _is_of_examples(whole, chosen))
        is_of_errors = total in made_by_weights(whole)  # and not the vector itself, as counts of classes over their sum
        is_mask = not is_choice and is_of_errors and _is_mask_of_examples(whole, chosen, before)
        if not (is_choice or is_mask) or _is_guarded(whole, name, count):
            continue
        if chosen in whole.data and not given & whole.trainable:
            yield Hazard(
                "COUNT_MAY_BE_ZERO",
                name,
                f"{name} divides by {count}, "
                + (f"the sum of the mask {chosen}" if is_mask else _number_of(graph, chosen))
                + ", which nothing keeps from 0: a batch without any makes the loss NaN, and with it all weights",
                "tf.maximum(count, 1); for parity keep it",
            )
            return


def _number_of(graph: Graph, chosen: str) -> str:
    return f"the number of labels that {chosen} ({graph.type(chosen)}) chooses"


def _is_of_examples(whole: WholeGraph, chosen: str) -> bool:
    """Whether a comparison has one answer for each example, as it is of a fed vector and a number."""
    sources = [_source(whole.graph, tensor) for tensor in whole.graph.inputs(chosen)]
    others = [source for source in sources if whole.value(source) is None]
    return len(others) == 1 and _has_rank_one(whole, others[0])


def _is_mask_of_examples(whole: WholeGraph, chosen: str, total: Collection[str]) -> bool:
    """Whether a node is, or is a tower's part of, a fed vector of no whole numbers.

    Args:
      whole: the graph.
      chosen: the node.
      total: what the errors are computed from that are divided; the vector must be in it.
    """
    source = _source(whole.graph, TensorId(chosen, 0))
    if source not in total or not _has_rank_one(whole, source):
        return False
    dtype = tf.as_dtype(whole.graph.nodes[source].attr["dtype"].type)
    return bool(dtype.is_floating or dtype.is_bool)


def _source(graph: Graph, tensor: TensorId) -> str:
    """The placeholder that a tensor is a part of, or its own node."""
    name = tensor.node
    while graph.type(name) in (*_COPIES, "Split", "SplitV", "StridedSlice", "Slice"):
        name = graph.inputs(name)[op_types.divided_input(graph.type(name))].node
    return name


def _has_rank_one(whole: WholeGraph, source: str) -> bool:
    """Whether a node is a placeholder of a vector."""
    shape = whole.graph.nodes[source].attr["shape"].shape
    return whole.graph.type(source) == "Placeholder" and not shape.unknown_rank and len(shape.dim) == 1


def _is_guarded(whole: WholeGraph, name: str, count: str) -> bool:
    """Whether the count decides if a quotient is computed, or taken."""
    graph = whole.graph
    mask = graph.before_branches(graph.inputs(count)[0])
    conditions = {branch.predicate.node for branch in predicates_of(graph, name)}
    users = graph.descendants([name], controls=False)
    conditions |= {graph.inputs(user)[0].node for user in users if graph.type(user) in op_types.CHOICES}
    return any(
        graph.before_branches(tensor) == mask
        for node in graph.ancestors(conditions, controls=False)
        if graph.type(node) in ("Sum", "Any", "Max")
        for tensor in graph.inputs(node)[:1]
    )
