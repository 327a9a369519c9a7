"""Hazard of a target network that is copied into the trained one, in place of the other way round."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.kept_shares import followed_variables
from legacy.saved.hazards.basics.variable_reads import variable_read
from workloads.support.wording import FEW, counted, listed

_LAYERS = ("MatMul", "Conv2D", "Conv3D")


def copies_into_trained(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds assignments of variables that nothing changes to trained ones, both of which a step reads; one for all.

    An assignment may also move a trained variable a part of the way, as the average of a teacher's weights does.
    """
    graph, changed = whole.graph, set(whole.writes.values())
    trained = {whole.variable_of(apply) for apply in whole.applies}
    found: dict[str, tuple[str, str]] = {}
    for name, variable in whole.writes.items():
        if graph.type(name) not in op_types.SETS or variable not in trained or name in whole.applies:
            continue
        read = variable_read(graph, graph.inputs(name)[1].node)
        followed = [one for one in followed_variables(whole, name) if one != variable] if not read else [read]
        given = followed[0] if len(set(followed)) == 1 else ""
        if given and given not in changed and given in whole.minimized and not whole.is_scalar(given):
            found[variable] = (name, given)
    if any(_weighs_layer(whole, given) for _, given in found.values()):
        variable, (name, given) = next(iter(found.items()))
        yield Hazard(
            "COPY_REVERSED",
            name,
            f"{counted(len(found), 'trained variable')} ({listed(list(found), FEW)}) can be set to others, or "
            f"moved towards them, that nothing changes, such as {variable} to {given} by {name}: run between the "
            f"steps, and not before the first, that undoes the training, and {given} keeps its initial value",
            "a target network takes the trained weights; for parity keep it",
        )


def _weighs_layer(whole: WholeGraph, variable: str) -> bool:
    """Whether a layer of the loss multiplies by a variable, and does not only compare with it."""
    graph = whole.graph
    return any(variable_read(graph, graph.inputs(name)[1].node) == variable for name in whole.minimized_ops(*_LAYERS))
