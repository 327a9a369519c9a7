"""Hazard of a Q-learning target through which the gradient flows: stop_gradient is missing."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.elements import choice_by_code
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import constant_factor
from legacy.saved.hazards.basics.variable_reads import variable_read, variable_sizes
from workloads.lifted.graph import Graph
from workloads.lifted.tensors.gradient_names import forward_name, is_gradient_op

#: Ops that hand a value on, in another shape or as a part.
_COPIES = ("Identity", "Reshape", "Squeeze", "ExpandDims", "StridedSlice")
#: Discounts are less than one, and not much less.
LEAST_DISCOUNT = 0.5


def differentiated_targets(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds targets r + c max Q(s') or r + c V(s') of a loss that gradients pass to the weights; one hazard for all.

    The weights may be those of another network, such as the copy that a run sets to the trained one now and then.
    """
    graph = whole.graph
    passed: set[str] | None = None
    for name in whole.minimized_ops(*op_types.DIFFERENCES):
        compared = [tensor.node for tensor in graph.inputs(name)[:2]]
        for side, value in zip(compared, reversed(compared)):
            target = _discounted_value(whole, side, _head(whole, value))
            if not target or value not in _valued(whole):
                continue
            if passed is None:
                passed = {forward_name(node, graph.nodes) or "" for node in whole.reach if is_gradient_op(node)}
            if target in passed:
                yield Hazard(
                    "TARGET_DIFFERENTIATED",
                    target,
                    f"{name} compares a value with a reward and the discounted {target} of "
                    f"{_whose(whole, target, value)}, and the gradient flows through both: the target moves towards "
                    "the value, too",
                    "apply tf.stop_gradient to the target; for parity leave it out",
                )
                return


def _whose(whole: WholeGraph, target: str, value: str) -> str:
    """The weights of a target, in words."""
    is_own = bool(_weights(whole, target) & _weights(whole, value))
    return "the same weights" if is_own else "another network, whose weights are trained as well"


def _discounted_value(whole: WholeGraph, name: str, head: str) -> str:
    """The value, times a discount, that a reward of data is added to; "" for any other node.

    Args:
      whole: the graph.
      name: the sum.
      head: the weight of the last layer of a state's value; "" if only maxima are looked for.
    """
    graph, name = whole.graph, _past_copies(whole.graph, name)
    terms = [tensor.node for tensor in graph.inputs(name)] if graph.type(name) in op_types.ADDITIONS else []
    rewards = [term for term in terms if term in whole.data and term not in _valued(whole)]
    others = [_past_copies(graph, term) for term in terms if term not in rewards]
    return _later_value(whole, others[0], head) if len(rewards) == len(others) == 1 else ""


def _later_value(whole: WholeGraph, name: str, head: str) -> str:
    """The maximum over actions, or state's value, that a product with a discount and perhaps a mask holds; or "".

    Args:
      whole: the graph.
      name: the product.
      head: the weight of the last layer of a state's value.
    """
    graph, is_discounted = whole.graph, False
    while graph.type(name) in ("Mul", "Identity", "Reshape", "Squeeze"):
        scaled = constant_factor(whole, name) if graph.type(name) == "Mul" else None
        if scaled is not None and LEAST_DISCOUNT <= scaled[1] < 1:
            name, is_discounted = scaled[0], True
            continue
        inputs = [tensor.node for tensor in graph.inputs(name)]
        computed = [before for before in inputs if before in _valued(whole)]
        if len(computed) != 1:
            return ""
        masks = [constant_factor(whole, before) for before in inputs if graph.type(before) == "Mul"]
        is_discounted |= any(mask is not None and LEAST_DISCOUNT <= mask[1] < 1 for mask in masks)
        name = computed[0]
    is_value = graph.type(name) == "Max" or _is_of_best(graph, name) or bool(head and _head(whole, name) == head)
    return name if is_discounted and is_value else ""


def _head(whole: WholeGraph, name: str) -> str:
    """The weight of the layer of one unit whose results a node is; "" if it is no such layer's."""
    graph, name = whole.graph, _past_copies(whole.graph, name)
    while graph.type(name) in ("BiasAdd", "Add", "AddV2", *_COPIES):
        name = graph.inputs(name)[0].node
    weight = variable_read(graph, graph.inputs(name)[1].node) if graph.type(name) == "MatMul" else ""
    sizes = variable_sizes(graph, weight) if weight in whole.trainable else []
    return weight if sizes[-1:] == [1] else ""


def _is_of_best(graph: Graph, name: str) -> bool:
    """Whether a node is the value of the action for which other values, as of another network, are greatest."""
    choice = choice_by_code(graph, name)
    return choice is not None and graph.type(_past_copies(graph, graph.inputs(choice.code)[0].node)) == "ArgMax"


def _past_copies(graph: Graph, name: str) -> str:
    while graph.type(name) in _COPIES:
        name = graph.inputs(name)[0].node
    return name


@functools.lru_cache(maxsize=2)
def _valued(whole: WholeGraph) -> frozenset[str]:
    """The nodes that are computed from trainable variables, other than by the choice of an action."""
    choices = _choices(whole)
    return frozenset(whole.graph.descendants(whole.trainable & set(whole.graph.nodes), False, choices) - choices)


@functools.lru_cache(maxsize=2)
def _choices(whole: WholeGraph) -> frozenset[str]:
    """The nodes that choose an action, which is no number of the weights."""
    return frozenset(whole.graph.of_types("ArgMax"))


def _weights(whole: WholeGraph, name: str) -> set[str]:
    """The trainable variables that a node is computed from."""
    return whole.graph.ancestors([name], _choices(whole), controls=False) & whole.trainable
