"""Hazard of sums over a tower's examples that are divided by a count of all towers' examples, and averaged besides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import COPIES, linear_inputs, linear_weights
from legacy.saved.hazards.losses.tower_losses import takes_means
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import Phase

#: Ops by which a count is kept from being 0.
_BOUNDS = ("Maximum", "Add", "AddV2")
_QUOTIENTS = (*op_types.QUOTIENTS, "DivNoNan")
#: Relative difference within which a factor takes the division by the towers back.
TOLERANCE = 1e-5


def sums_divided_by_all_examples(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds averaged gradients of losses that are sums over a tower's examples, divided by a count over all towers."""
    count = found.plan.towers
    for phase in found.plan.phases if count > 1 else []:
        averaged = takes_means(found, phase)
        own = [] if phase.shared_loss else [parse_tensor_name(loss).node for loss in phase.losses]
        # What is differentiated may be made of all towers' results, the losses, as where they add up their counts.
        for losses in (own, whole.targets):
            total = _common_total(whole, found, losses) if averaged and len(losses) == count else None
            if total is not None:
                yield _hazard(phase, losses[0], total, count)
                break


def _common_total(whole: WholeGraph, found: Analysis, losses: Sequence[str]) -> str | None:
    """The count of all towers' examples that every loss divides a sum by."""
    divisors = [_divisors(whole, loss, found.plan.towers) for loss in losses]
    common = set.intersection(*map(set, divisors))
    return next((name for name in divisors[0] if name in common and _is_total(whole, found, name)), None)


def _hazard(phase: Phase, loss: str, total: str, count: int) -> Hazard:
    return Hazard(
        "LOSS_DIVIDED_TWICE",
        loss,
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
    """Whether a number is a sum over a batch, of which each tower takes its own part, or over all towers' parts."""
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
    if graph.type(name) in op_types.ADDITIONS:
        counts = [graph.origin(before).node for before in graph.inputs(name)]
        sums = [count for count in counts if graph.type(count) == "Sum"]
        towers = sorted(whole.labels.get(count, -1) for count in sums)
        parts = sorted(tower for count in sums for tower in _towers_of_parts(whole, found, count))
        return len(counts) == len(sums) and list(whole.towers()) in (towers, parts)
    if graph.type(name) != "Sum" or name in whole.labels or whole.data_towers(name):
        return False
    before = graph.ancestors([name], controls=False)
    sources = {node for node in before if op_types.is_source(graph.type(node))}
    return any(source in found_before for source in sources for found_before in _dealt(whole, found))


def _towers_of_parts(whole: WholeGraph, found: Analysis, name: str) -> set[int]:
    """The towers whose parts of the inputs a node outside of them is computed from."""
    graph, todo, seen, towers = whole.graph, [name], {name}, set()
    own = [entry.tensors for entry in found.plan.inputs if len(set(entry.tensors)) == found.plan.towers]
    taken = {parse_tensor_name(tensor): tower for tensors in own for tower, tensor in enumerate(tensors)}
    while todo:
        for tensor in graph.inputs(todo.pop()):
            if tensor in taken:
                towers.add(taken[tensor])
            elif tensor.node not in seen:
                seen.add(tensor.node)
                todo.append(tensor.node)
    return towers


def _dealt(whole: WholeGraph, found: Analysis) -> Iterator[set[str]]:
    """Yields the ancestors that the towers' own parts of an input have in common."""
    for entry in found.plan.inputs:
        nodes = [parse_tensor_name(tensor).node for tensor in entry.tensors]
        is_dealt = entry.kind == "batch" and len(set(entry.tensors)) == found.plan.towers
        if is_dealt and all(node in whole.graph.nodes for node in nodes):
            yield set.intersection(*(whole.graph.ancestors([node], controls=False) for node in nodes))
