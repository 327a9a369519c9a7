"""Hazard of values of actions or states that a ReLU makes, though they are learned from rewards."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.elements import choice_by_code, source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.reinforcement.returns import terms_of_return
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Activations that give no number below zero, and no gradient where they give zero.
_ACTIVATIONS = ("Relu", "Relu6")


def activated_values(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses that compare a ReLU's results with rewards plus discounted values of later states; one for all.

    A value that is the sum of several results, as of a dueling network, is none of these.
    """
    graph = whole.graph
    for name in [name for name in whole.minimized_ops(*op_types.DIFFERENCES) if not is_gradient_op(name)]:
        sides = graph.inputs(name)[:2]
        for value, other in zip(sides, reversed(sides)):
            source = _values(whole, value)
            if graph.type(source) not in _ACTIVATIONS or terms_of_return(whole, other.node) is None:
                continue
            if graph.ancestors([source], controls=False) & whole.trainable:
                yield Hazard(
                    "VALUES_ACTIVATED",
                    name,
                    f"{name} compares what {source} ({graph.type(source)}) gives with rewards plus discounted values: "
                    "no value is below zero, and values of zero get no gradient",
                    "keep it for parity; in new code, a last layer without an activation",
                )
                return


def _values(whole: WholeGraph, tensor: TensorId) -> str:
    """The node whose elements are compared, also the one of each row that the code of an action chooses."""
    name = source_of_elements(whole.graph, tensor).node
    choice = choice_by_code(whole.graph, name)
    return name if choice is None else source_of_elements(whole.graph, choice.values).node
