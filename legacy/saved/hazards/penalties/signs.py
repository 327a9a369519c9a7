"""Hazards of penalties: subtracted from the loss, or of variables that the step does not train."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import linear_weights
from legacy.saved.hazards.basics.variable_reads import variables_behind
from legacy.saved.hazards.penalties.terms import find_penalties
from workloads.support.wording import FEW, counted, listed


def subtracted_penalties(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds penalties that a loss contains with a negative weight; one hazard for all."""
    penalties = {penalty.op: penalty for penalty in find_penalties(whole)}
    for target in whole.targets if penalties else []:
        weights = linear_weights(whole, target)
        negative = [name for name in penalties if weights.get(name, 0.0) < 0]
        if negative and target in minimized_targets(whole):
            names = sorted({name for op in negative for name in penalties[op].variables})
            yield Hazard(
                "PENALTY_SUBTRACTED",
                negative[0],
                f"{target} contains the penalty of {counted(len(names), 'variable')} ({listed(names, FEW)}) "
                "with a negative weight: it makes the weights grow",
                "add it; for parity keep the sign",
            )
            return


def penalties_of_untrained(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds penalties in a loss of variables that nothing trains, such as moving statistics; one hazard for all."""
    graph = whole.graph
    names: dict[str, str] = {}
    for name in whole.minimized_ops("L2Loss"):
        variables = variables_behind(graph, name)
        if name not in whole.data and not variables & whole.trainable:
            names.update((variable, name) for variable in sorted(variables))
    for variable, op in names.items():
        yield Hazard(
            "PENALTY_OF_UNTRAINED",
            op,
            f"the loss contains penalties of {counted(len(names), 'variable')} that the step does not train "
            f"({listed(list(names), FEW)}): they change the loss, and {variable} does not get smaller",
            "leave them out: weights are the same; for parity of the losses keep them",
        )
        return
