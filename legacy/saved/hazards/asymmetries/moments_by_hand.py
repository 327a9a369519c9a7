"""Hazards of Adam by hand: the correction of another decay, and the root of an average of gradients."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.kept_shares import Kept, kept_share
from legacy.saved.hazards.basics.variable_reads import variable_read
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Relative difference of two decays that is no rounding error.
TOLERANCE = 1e-5


def corrections_of_another_decay(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds m / (1 - c^t) of a moving average m that keeps another share than c; one hazard for all."""
    for name, (write, kept) in _uses(whole, *op_types.QUOTIENTS).items():
        corrected = _corrected_share(whole, whole.graph.inputs(name)[1].node)
        if corrected is not None and abs(corrected - kept.share) > TOLERANCE:
            yield Hazard(
                "CORRECTION_OF_ANOTHER",
                name,
                f"{name} divides a moving average ({whole.writes[write]}), which keeps {kept.share:.4g} of itself in "
                f"each step, by 1 - {corrected:.4g}^t: that corrects an average that keeps {corrected:.4g}",
                "1 - b^t of the average's own decay b; for parity keep it",
            )
            return


def roots_of_averaged_gradients(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds roots of moving averages of gradients, in place of their squares; one hazard for all."""
    for name, (write, kept) in _uses(whole, "Sqrt", "Rsqrt").items():
        if any(map(is_gradient_op, kept.weights)):
            yield Hazard(
                "ROOT_OF_NEGATIVE",
                name,
                f"{name} is the root of {whole.writes[write]}, a moving average of gradients, which may be negative: "
                "the update is NaN there",
                "an average of their squares; for parity keep it",
            )
            return


def _uses(whole: WholeGraph, *kinds: str) -> dict[str, tuple[str, Kept]]:
    """{op of some types that takes a moving average, perhaps corrected: (its assignment, what it keeps)}."""
    graph, found = whole.graph, {}
    averages = {}
    for name, variable in whole.writes.items():
        kept = kept_share(whole, name) if name in whole.members and variable not in whole.trainable else Kept(0.0, {})
        if 0 < kept.share < 1:
            averages[name] = kept
    by_variable = {whole.writes[name]: name for name in averages}
    for name in [name for name in graph.nodes if name in whole.members and graph.type(name) in kinds]:
        value = graph.inputs(name)[0].node
        while graph.type(value) in ("Identity", *op_types.QUOTIENTS, *op_types.ADDITIONS) and value not in averages:
            if variable_read(graph, value):
                break
            value = graph.inputs(value)[0].node
        write = value if value in averages else by_variable.get(variable_read(graph, value))
        if write is not None:
            found[name] = (write, averages[write])
    return found


def _corrected_share(whole: WholeGraph, name: str) -> float | None:
    """c of 1 - c^t; None of anything else."""
    graph = whole.graph
    inputs = [graph.origin(tensor).node for tensor in graph.inputs(name)] if graph.type(name) == "Sub" else []
    if len(inputs) != 2 or whole.value(inputs[0]) != 1 or graph.type(inputs[1]) != "Pow":
        return None
    base, exponent = (tensor.node for tensor in graph.inputs(inputs[1]))
    return whole.value(base) if whole.value(exponent) is None else None
