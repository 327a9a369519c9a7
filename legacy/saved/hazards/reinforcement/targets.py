"""Hazard of a Q-learning target through which the gradient flows: stop_gradient is missing."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import constant_factor
from workloads.lifted.graph import Graph
from workloads.lifted.tensors.gradient_names import forward_name, is_gradient_op

#: Ops that compare a value with its target.
_DIFFERENCES = ("Sub", "SquaredDifference")
#: Discounts are less than one, and not much less.
LEAST_DISCOUNT = 0.5


def differentiated_targets(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds targets r + c max Q(s') of a loss that gradients pass on their way to the weights; one hazard for all."""
    graph = whole.graph
    passed: set[str] | None = None
    for name in whole.minimized_ops(*_DIFFERENCES):
        targets = [_discounted_maximum(whole, tensor.node) for tensor in graph.inputs(name)[:2]]
        for target, value in zip(targets, reversed(graph.inputs(name)[:2])):
            if not target or not _weights(whole, target) & _weights(whole, value.node):
                continue
            if passed is None:
                passed = {forward_name(node, graph.nodes) or "" for node in whole.reach if is_gradient_op(node)}
            if target in passed:
                yield Hazard(
                    "TARGET_DIFFERENTIATED",
                    target,
                    f"{name} compares a value with a reward and the discounted {target} of the same weights, and the "
                    "gradient flows through both: the target moves towards the value, too",
                    "tf.stop_gradient of the target; for parity leave it out",
                )
                return


def _discounted_maximum(whole: WholeGraph, name: str) -> str:
    """The maximum of a sum of what data bring and the maximum times a discount; "" for any other node."""
    graph, name = whole.graph, _past_copies(whole.graph, name)
    terms = [tensor.node for tensor in graph.inputs(name)] if graph.type(name) in op_types.ADDITIONS else []
    rewards = [term for term in terms if term in whole.data and not _weights(whole, term)]
    others = [_past_copies(graph, term) for term in terms if term not in rewards]
    return _maximum(whole, others[0]) if len(rewards) == len(others) == 1 else ""


def _maximum(whole: WholeGraph, name: str) -> str:
    """The maximum over actions that a product of it, of a discount and perhaps of a mask has for a factor; or ""."""
    graph, is_discounted = whole.graph, False
    while graph.type(name) in ("Mul", "Identity", "Reshape", "Squeeze"):
        scaled = constant_factor(whole, name) if graph.type(name) == "Mul" else None
        if scaled is not None and LEAST_DISCOUNT <= scaled[1] < 1:
            name, is_discounted = scaled[0], True
            continue
        inputs = [tensor.node for tensor in graph.inputs(name)]
        computed = [before for before in inputs if _weights(whole, before)]
        if len(computed) != 1:
            return ""
        masks = [constant_factor(whole, before) for before in inputs if graph.type(before) == "Mul"]
        is_discounted |= any(mask is not None and LEAST_DISCOUNT <= mask[1] < 1 for mask in masks)
        name = computed[0]
    return name if is_discounted and (graph.type(name) == "Max" or _is_of_best(graph, name)) else ""


def _is_of_best(graph: Graph, name: str) -> bool:
    """Whether a node is the value of the action for which other values, as of another network, are greatest."""
    product = graph.origin(graph.inputs(name)[0]).node if graph.type(name) == "Sum" else ""
    factors = [graph.origin(tensor).node for tensor in graph.inputs(product)] if product else []
    codes = [factor for factor in factors if graph.type(factor) == "OneHot"]
    return any(graph.type(_past_copies(graph, graph.inputs(code)[0].node)) == "ArgMax" for code in codes)


def _past_copies(graph: Graph, name: str) -> str:
    while graph.type(name) in ("Identity", "Reshape", "Squeeze", "ExpandDims"):
        name = graph.inputs(name)[0].node
    return name


def _weights(whole: WholeGraph, name: str) -> set[str]:
    """The trainable variables that a node is computed from; the choice of an action is no number of theirs."""
    choices = [node for node in whole.graph.nodes if whole.graph.type(node) == "ArgMax"]
    return whole.graph.ancestors([name], stop=choices, controls=False) & whole.trainable
