"""Hazard of the log-likelihood of a chain of labels, as of a CRF, that is minimized."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import minimized_targets, trained_by
from legacy.saved.hazards.basics.gradient_flow import gradient_flow
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from legacy.saved.hazards.signs.log_sums import exponent
from workloads.lifted.tensors.gradient_names import is_gradient_op

_VIEWS = ("Identity", "Reshape", "Squeeze", "ExpandDims")


def minimized_chains(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses with the score of given labels less the logarithm of a sum that a loop over time adds up; one.

    The loss trains all weights of the sum, and it makes scores of the given labels less likely than any others.
    """
    graph = whole.graph
    for target in minimized_targets(whole):
        signs = linear_signs(whole, target)
        for name in [name for name, sign in signs.items() if sign < 0]:
            inner = _sum_of_loop(whole, name)
            before = graph.ancestors([inner], controls=False) if inner else set()
            is_trained = bool(before) and before & whole.trainable <= trained_by(whole).get(target, set())
            if not is_trained or not gradient_flow(whole).passes(name):
                continue
            score = next((one for one, sign in signs.items() if sign > 0 and _is_of_labels(whole, one, before)), "")
            if score:
                yield Hazard(
                    "LIKELIHOOD_MINIMIZED",
                    name,
                    f"{target} contains the score {score} of given labels less {name}, the logarithm of a sum over all "
                    "sequences of labels: a log-likelihood without its minus sign",
                    "multiply the term by -1; for parity keep the sign",
                )
                return


def _sum_of_loop(whole: WholeGraph, name: str) -> str:
    """The node h of a log(sum(exp(h))), perhaps 0 for empty sequences, of what a loop computes; "" of any other."""
    graph = whole.graph
    if graph.type(name) in op_types.CHOICES:
        others = [tensor.node for tensor in graph.inputs(name)[1:] if tensor.node in made_by_weights(whole)]
        if len(others) != 1:
            return ""
        name = others[0]
    logarithms = [one for one, sign in linear_signs(whole, name).items() if sign > 0 and graph.type(one) == "Log"]
    inner = exponent(whole, logarithms[0]) if len(logarithms) == 1 else ""
    before = graph.ancestors([inner], controls=False) if inner else set()
    loops = {node for node in before if graph.type(node) == "Exit" and node in made_by_weights(whole)}
    is_summed = any(graph.type(node) == "Log" and not is_gradient_op(node) for node in before)
    return inner if loops and is_summed else ""


def _is_of_labels(whole: WholeGraph, name: str, made_of: Collection[str]) -> bool:
    """Whether a node gathers, at given places, values that other nodes are computed from, perhaps times a mask."""
    graph = whole.graph
    parts = [graph.origin(tensor).node for tensor in graph.inputs(name)] if graph.type(name) == "Mul" else [name]
    trained = [part for part in parts if part in made_by_weights(whole)]
    if len(trained) != 1 or is_gradient_op(name):
        return False
    node = trained[0]
    while graph.type(node) in _VIEWS:
        node = graph.inputs(node)[0].node
    if graph.type(node) not in (*op_types.LOOKUPS, "GatherNd"):
        return False
    source, places = (tensor.node for tensor in graph.inputs(node)[:2])
    while graph.type(source) in _VIEWS:
        source = graph.inputs(source)[0].node
    return source in made_of and places in whole.data and places not in made_by_weights(whole)
