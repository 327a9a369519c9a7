"""Hazard of sums over a tower's examples that are divided by a count of all towers' examples, and averaged besides."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import COPIES, linear_inputs, linear_weights
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import Phase

#: Ops by which a count is kept from being 0.
_BOUNDS = ("Maximum", "Add", "AddV2")
_QUOTIENTS = (*op_types.QUOTIENTS, "DivNoNan")
#: Relative difference within which a factor takes the division by the towers back.
TOLERANCE = 1e-5


def sums_divided_by_all_examples(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds averaged gradients of losses that are sums over a tower's part of what all towers' count is taken of."""
    count = found.plan.towers
    for phase in found.plan.phases if count > 1 else []:
        averaged = bool(phase.combine) and all(combine.kind == "mean" for combine in phase.combine)
        if not averaged or phase.shared_loss or len(phase.losses) != count:
            continue
        divisors = [_divisors(whole, parse_tensor_name(loss).node, count) for loss in phase.losses]
        common = set.intersection(*map(set, divisors))
        totals = [name for name in divisors[0] if name in common and _is_total(whole, found, name)]
        if totals:
            yield _hazard(phase, totals[0], count)


def _hazard(phase: Phase, total: str, count: int) -> Hazard:
    return Hazard(
        "LOSS_DIVIDED_TWICE",
        parse_tensor_name(phase.losses[0]).node,
        f"each of the {count} towers divides its loss by {total}, which is counted in the batch of all towers, and "
        f"their gradients are averaged besides: {phase.train_op} takes 1/{count} of the gradient of the mean over all",
        f"sum the replicas' gradients, or divide by a replica's own count; for parity keep both, or give an optimizer "
        f"that does not normalize 1/{count} of the learning rate",
    )


def _divisors(whole: WholeGraph, loss: str, count: int) -> list[str]:
    """The nodes by which a loss divides sums of data, unless a factor takes the division by the towers back."""
    if loss not in whole.graph.nodes:
        return []
    found = []
    for name, weight in linear_weights(whole, loss).items():
        inputs = [before.node for before in whole.graph.inputs(name)]
        is_quotient = whole.graph.type(name) in _QUOTIENTS and not any(linear_inputs(whole, name))
        if is_quotient and abs(abs(weight) / count - 1) > TOLERANCE:
            numerator = linear_weights(whole, inputs[0])
            sums = [end for end in numerator if whole.graph.type(end) == "Sum" and end in whole.data]
            if sums and all(abs(abs(numerator[end]) / count - 1) > TOLERANCE for end in sums):
                found.append(inputs[1])
    return found


def _is_total(whole: WholeGraph, found: Analysis, name: str) -> bool:
    """Whether a number is a sum over a batch, of which each tower takes its own part."""
    graph = whole.graph
    while True:
        inputs = [before.node for before in graph.inputs(name)]
        varying = [node for node in inputs if whole.value(node) is None]
        if graph.type(name) in COPIES and inputs:
            name = inputs[0]
        elif graph.type(name) in _BOUNDS and len(varying) == 1:
            name = varying[0]
        else:
            break
    if graph.type(name) != "Sum" or name in whole.labels or whole.data_towers(name):
        return False
    before = graph.ancestors([name], controls=False)
    sources = {node for node in before if op_types.is_source(graph.type(node))}
    return any(source in found_before for source in sources for found_before in _dealt(whole, found))


def _dealt(whole: WholeGraph, found: Analysis) -> Iterator[set[str]]:
    """Yields the ancestors that the towers' own parts of an input have in common."""
    for entry in found.plan.inputs:
        nodes = [parse_tensor_name(tensor).node for tensor in entry.tensors]
        is_dealt = entry.kind == "batch" and len(set(entry.tensors)) == found.plan.towers
        if is_dealt and all(node in whole.graph.nodes for node in nodes):
            yield set.intersection(*(whole.graph.ancestors([node], controls=False) for node in nodes))
