"""Hazard of a penalty that adds up weights themselves, in place of their absolute values or squares."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.linear_weights import COPIES, constant_factor
from legacy.saved.hazards.basics.variable_reads import variable_read, variable_sizes
from workloads.lifted.tensors.gradient_names import is_gradient_op

_POSITIVE = ("Exp", "Softplus", "Sigmoid")
_BOUNDS = ("Abs", "ClipByValue", "Maximum", "Relu")


def sums_of_weights(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds sums or means of a trained matrix's numbers, with their signs, as a term of a loss; one hazard for all.

    A vector, such as the logarithms of deviations, may be a term of a likelihood, and so may a matrix of them. Weights
    that some op keeps above 0, as of a factorization, are their own magnitudes.
    """
    for target in minimized_targets(whole):
        for name, sign in linear_signs(whole, target).items():
            variable = _added_up(whole, name)
            if variable and sign and not is_gradient_op(name):
                yield Hazard(
                    "PENALTY_WITHOUT_MAGNITUDE",
                    name,
                    f"{name} adds up the weights {variable} with their signs, as a term of a loss that falls without a "
                    f"bound where they become {'negative' if sign > 0 else 'large'}: no penalty of their size",
                    "tf.abs or tf.square of the weights; for parity keep it",
                )
                return


def _added_up(whole: WholeGraph, name: str) -> str:
    """The trained matrix whose numbers a node adds up; "" of any other node."""
    graph = whole.graph
    if graph.type(name) not in op_types.REDUCTIONS:
        return ""
    variable = variable_read(graph, graph.inputs(name)[0].node)
    if variable not in whole.trainable or _is_logarithm(whole, variable) or _is_kept_positive(whole, variable):
        return ""
    return variable if len([size for size in variable_sizes(graph, variable) if size > 1]) > 1 else ""


def _is_logarithm(whole: WholeGraph, variable: str) -> bool:
    """Whether what is computed of a weight, by constants, is an exponent."""
    graph, todo, seen = whole.graph, [variable], {variable}
    while todo:
        for user in [use.node for use in graph.users(todo.pop()) if not is_gradient_op(use.node)]:
            if graph.type(user) in _POSITIVE:
                return True
            is_scaled = (
                graph.type(user) in (*COPIES, "ReadVariableOp", "Neg") or constant_factor(whole, user) is not None
            )
            if is_scaled and user not in seen:
                seen.add(user)
                todo.append(user)
    return False


def _is_kept_positive(whole: WholeGraph, variable: str) -> bool:
    """Whether some op sets a weight to a maximum, as of itself and 0."""
    graph = whole.graph
    sets = [op for op, written in whole.writes.items() if written == variable and graph.type(op) in op_types.SETS]
    return any(graph.type(graph.origin(graph.inputs(op)[1]).node) in _BOUNDS for op in sets)
