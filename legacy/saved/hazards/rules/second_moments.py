"""Hazard of an update that is divided by an average of squared gradients, where Adam and RMSProp take its root."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.kept_shares import kept_share
from legacy.saved.hazards.basics.linear_weights import COPIES, linear_source
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.basics.variable_reads import variable_read
from workloads.lifted.tensors.gradient_names import is_gradient_op

_SUMS = ("Add", "AddV2", "Maximum")
#: The least number that, added to squares, is more than a guard against 0: the damping of another rule.
DAMPING = 1e-3


def averages_without_root(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds updates that divide by moving averages of squared gradients, without their root; one hazard for all."""
    graph = whole.graph
    moments = _averages_of_squares(whole)
    if not moments:
        return
    updating = graph.ancestors(whole.applies, controls=False)
    for name in [name for name in graph.of_types(*op_types.QUOTIENTS) if name in updating]:
        above, below = (tensor.node for tensor in graph.inputs(name)[:2])
        variable = moments.get(_averaged(whole, below), "") if not is_gradient_op(name) else ""
        if variable and _follows_gradient(whole, above):
            yield Hazard(
                "AVERAGE_WITHOUT_ROOT",
                name,
                f"{name} divides a change of weights by {variable}, the moving average of squared gradients, and not "
                "by its root: the smaller the gradients are, the larger the steps",
                "Adam, LAMB and RMSProp divide by the square root; for parity keep it",
            )
            return


def _averages_of_squares(whole: WholeGraph) -> dict[str, str]:
    """{variable, or what is assigned to it: the variable} of moving averages of squared gradients."""
    found: dict[str, str] = {}
    for name, variable in whole.writes.items():
        if name not in whole.members or name in whole.applies and variable in whole.trainable:
            continue
        kept = kept_share(whole, name)
        squares = [node for node, weight in kept.weights.items() if weight and _is_square(whole, node)]
        if squares and 0 < kept.share < 1:
            found[variable] = variable
            found[name] = variable
            if whole.graph.type(name) in op_types.SETS:
                found[whole.graph.origin(whole.graph.inputs(name)[1]).node] = variable
    return found


def _is_square(whole: WholeGraph, name: str) -> bool:
    """Whether a node is the square of a gradient, perhaps times a constant, as (c g) g."""
    graph, base = whole.graph, squared(whole, name)
    inputs = [tensor.node for tensor in graph.inputs(name)] if graph.type(name) == "Mul" else []
    sources = {linear_source(whole, node)[0] for node in inputs}
    source = base.node if base is not None else sources.pop() if len(sources) == 1 else ""
    return bool(source) and _follows_gradient(whole, source)


def _averaged(whole: WholeGraph, divisor: str) -> str:
    """The variable or node that a divisor is, to which a small number is added, perhaps corrected by 1 - b^t."""
    graph, name = whole.graph, divisor
    while True:
        inputs = [tensor.node for tensor in graph.inputs(name)]
        numbers = [whole.value(node) for node in inputs]
        is_guarded = graph.type(name) in _SUMS and len([n for n in numbers if n is not None and n < DAMPING]) == 1
        is_corrected = graph.type(name) in op_types.QUOTIENTS and not _follows_gradient(whole, inputs[1])
        if is_guarded:
            name = next(node for node, number in zip(inputs, numbers) if number is None)
        elif is_corrected or (graph.type(name) in COPIES and not variable_read(graph, name)):
            name = inputs[0]
        else:
            return variable_read(graph, name) or name


def _follows_gradient(whole: WholeGraph, name: str) -> bool:
    return any(map(is_gradient_op, whole.graph.ancestors([name], controls=False)))
