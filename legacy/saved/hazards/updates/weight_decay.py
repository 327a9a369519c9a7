"""Hazard of weights that decay twice: by a penalty in the loss, and by an assignment besides the update."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import variable_read
from legacy.saved.hazards.losses.penalties import find_penalties
from workloads.support.wording import counted, listed

#: Of variables, so many are named.
MOST_NAMED = 3
_SQUARES = {"L2Loss", "Square"}
_ASSIGNS = ("Assign", "AssignVariableOp", "AssignSub", "AssignSubVariableOp")


def decayed_twice(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds weights with a squared penalty in a loss that a step multiplies by a number besides; one hazard for all."""
    decays = {whole.writes[name]: name for name in whole.writes if name in whole.members and _decays(whole, name)}
    penalties = [one for one in find_penalties(whole) if one.op in whole.minimized and _SQUARES & set(one.kind)]
    twice = [name for name in decays if any(name in penalty.variables for penalty in penalties)]
    if twice:
        penalty = next(penalty for penalty in penalties if twice[0] in penalty.variables)
        yield Hazard(
            "WEIGHT_DECAYED_TWICE",
            decays[twice[0]],
            f"{counted(len(twice), 'weight')} ({listed(twice, MOST_NAMED)}) decay by a penalty of the loss and by an "
            f"assignment besides, such as {twice[0]} by {penalty.op} and {decays[twice[0]]}",
            "leave one of them out; for parity keep both",
        )


def _decays(whole: WholeGraph, name: str) -> bool:
    """Whether an assignment multiplies a weight by a number, or subtracts such a multiple of it.

    The number depends on no data and no weight, as a learning rate times a constant does.
    """
    graph, variable = whole.graph, whole.writes[name]
    if variable not in whole.trainable or graph.type(name) not in _ASSIGNS or len(graph.inputs(name)) < 2:
        return False
    factors, todo = [], [graph.inputs(name)[1].node]
    while todo:
        factor = todo.pop()
        if graph.type(factor) == "Mul":
            todo += [tensor.node for tensor in graph.inputs(factor)]
        else:
            factors.append(factor)
    own = [factor for factor in factors if variable_read(graph, factor) == variable]
    others = graph.ancestors(set(factors) - set(own), controls=False)
    return len(own) == 1 < len(factors) and not others & (whole.trainable | whole.data)
