"""Regularization terms that no name or op type tells, such as a penalty on products of weights: terms of a loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.linear_weights import linear_inputs
from legacy.saved.hazards.penalties.terms import Penalty, kinds_before

#: Ops of which one, at least, makes a penalty a number of a whole matrix: a trained number by itself is none.
_OVER_ELEMENTS = ("Sum", "Mean", "Max", "L2Loss", "MatrixDeterminant")


def unnamed_penalties(
    whole: WholeGraph, known: Sequence[Penalty], weights: Mapping[str, Mapping[str, float]]
) -> list[Penalty]:
    """Returns the terms of losses that depend on trained variables, and on nothing else that differs between steps.

    Args:
      whole: the graph.
      known: terms that names and ops tell; what is computed from one, or for one, is no further term.
      weights: {what is differentiated: {node: its weight there}}; see `linear_weights`.

    Returns:
      The terms, in the order of the losses.
    """
    graph, found = whole.graph, {}
    related = {penalty.op for penalty in known}
    related |= graph.ancestors(related, controls=False) | graph.descendants(related, controls=False)
    of_data = [of_target for target, of_target in weights.items() if target in whole.data]
    for name in [name for of_target in of_data for name in of_target]:
        if name in found or name in whole.data or name in related or any(linear_inputs(whole, name)):
            continue
        before = graph.ancestors([name], controls=False)
        variables = {node for node in before if graph.type(node) in op_types.VARIABLES}
        is_fixed = not any(op_types.is_random(graph.type(node)) for node in before)
        is_over_elements = any(graph.type(node) in _OVER_ELEMENTS for node in before)
        if variables and variables <= whole.trainable and is_fixed and is_over_elements:
            found[name] = Penalty(name, tuple(sorted(variables)), kinds_before(graph, before - variables))
    return list(found.values())
