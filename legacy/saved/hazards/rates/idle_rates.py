"""Hazard of a variable that holds the learning rate for itself and for summaries alone."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import applied_rate
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import is_read
from legacy.saved.hazards.rates.frozen_rates import FLOATS, RATES, UNNAMED

#: Ops between a rate and the value that is assigned to it next.
_ON_THE_WAY = ("Identity", "ReadVariableOp", "Cast", "Reshape", *op_types.ARITHMETIC)
#: Ops that are no use of a rate: they keep, save or show it.
_KEEPS = ("Assign", "Save", "IsVariableInitialized", "VarIsInitializedOp", "Summary")


def idle_rates(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds a changed variable with the name of a learning rate, where every optimizer takes a constant; the first.

    One that no op reads at all is found with the frozen rates. A program whose optimizers take a rate that changes may
    show it by such a variable.
    """
    rates = [applied_rate(whole, apply) for apply in whole.applies]
    if not rates or any(rate is None or whole.value(rate.node) is None for rate in rates):
        return
    for variable in dict.fromkeys(whole.writes.values()):
        is_rate = RATES.search(UNNAMED.sub("", variable)) and variable not in whole.trainable
        is_number = whole.is_scalar(variable) and whole.graph.nodes[variable].attr["dtype"].type in FLOATS
        if is_rate and is_number and is_read(whole.graph, variable) and _is_idle(whole, variable):
            yield Hazard(
                "LEARNING_RATE_FROZEN",
                variable,
                f"the program changes the learning rate {variable}, which only its own change and summaries read: "
                "no update depends on it",
                "hand the optimizer the variable; for parity with the old program keep the constant it used",
            )
            return


def _is_idle(whole: WholeGraph, variable: str) -> bool:
    """Whether a variable's value reaches nothing but summaries and the variable itself."""
    graph, todo, seen = whole.graph, [variable], {variable}
    while todo:
        for user in {use.node for use in graph.users(todo.pop())} - seen:
            kind = graph.type(user)
            if kind in _ON_THE_WAY:
                seen.add(user)
                todo.append(user)
            elif not any(word in kind for word in _KEEPS) or whole.writes.get(user, variable) != variable:
                return False
    return True
