"""Hazards of weights that decay twice or by the square of a rate, and of normalizations that decay."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterator, Mapping

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.conditions import exclude_each_other
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import constant_factor, linear_weights
from legacy.saved.hazards.basics.variable_reads import variable_read
from legacy.saved.hazards.penalties.terms import Penalty, find_penalties
from legacy.saved.hazards.updates.decays_in_updates import decays_in_updates
from legacy.saved.hazards.updates.normalizations import parts_of_normalizations
from workloads.support.wording import FEW, counted, listed, plural

#: A factor below this is a rate of decay.
SMALL = 0.1
_SQUARES = {"L2Loss", "Square"}
_ASSIGNS = (*op_types.SETS, "AssignSub", "AssignSubVariableOp")


def decayed_twice(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds weights with a squared penalty in a loss that a step lessens by a part of them besides; one for all."""
    added = decays_in_updates(whole)
    assigned = {whole.writes[name]: name for name in whole.writes if name in whole.members and _decays(whole, name)}
    decays = {**added, **assigned}
    penalties = [one for one in find_penalties(whole) if one.op in whole.minimized and _SQUARES & set(one.kind)]
    twice = [name for name in decays if any(name in penalty.variables for penalty in penalties)]
    if not twice:
        yield from _decayed_beside_the_update(added, assigned)
    if twice:
        penalty = next(penalty for penalty in penalties if twice[0] in penalty.variables)
        yield Hazard(
            "WEIGHT_DECAYED_TWICE",
            decays[twice[0]],
            f"{counted(len(twice), 'weight')} ({listed(twice, FEW)}) decay by a penalty of the loss and by "
            f"{'an assignment' if twice[0] in assigned else 'a term of the update'} besides, such as {twice[0]} by "
            f"{penalty.op} and {decays[twice[0]]}",
            "leave one of them out; for parity keep both",
        )


def _decayed_beside_the_update(added: Mapping[str, str], assigned: Mapping[str, str]) -> Iterator[Hazard]:
    """Finds weights that decay by a term of their update and by an assignment besides; one hazard for all.

    Args:
      added: {weight: the product that its update contains}.
      assigned: {weight: the assignment that lessens it}.
    """
    both = [name for name in added if name in assigned]
    if both:
        yield Hazard(
            "WEIGHT_DECAYED_TWICE",
            assigned[both[0]],
            f"{counted(len(both), 'weight')} ({listed(both, FEW)}) decay by a term of the update and by an "
            f"assignment besides, such as {both[0]} by {added[both[0]]} and {assigned[both[0]]}",
            "leave one of them out; for parity keep both",
        )


def decayed_by_several_ops(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds weights that several assignments of one run lessen by a part of themselves; one hazard for all."""
    decays: dict[str, list[str]] = collections.defaultdict(list)
    for name, variable in whole.writes.items():
        if name in whole.members and _decays(whole, name):
            decays[variable].append(name)
    several = {variable: names for variable, names in decays.items() if len(names) > 1}
    for variable, names in several.items():
        if not any(exclude_each_other(whole.graph, one, other) for one, other in itertools.combinations(names, 2)):
            yield Hazard(
                "WEIGHT_DECAYED_BY_SEVERAL_OPS",
                names[1],
                f"one run lessens {counted(len(several), 'weight')} ({listed(list(several), FEW)}) by a part of "
                f"themselves {len(names)} times, such as {variable} by {listed(names, FEW)}",
                "decay once, beside the update; for parity, multiply the rate",
            )
            return


def weight_decays(whole: WholeGraph) -> list[Penalty]:
    """Returns the squared penalties that a loss contains."""
    scaled: set[str] = set()
    for target in whole.targets:
        scaled |= {name for name, weight in linear_weights(whole, target).items() if weight}
    return [one for one in find_penalties(whole) if one.op in scaled and _SQUARES & set(one.kind)]


def decays_scaled_twice(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds squared penalties of a loss that one small constant multiplies twice; one hazard for all."""
    found: dict[str, float] = {}
    for target in whole.targets:
        weights = linear_weights(whole, target)
        for penalty in [one for one in find_penalties(whole) if one.op in weights and _SQUARES & set(one.kind)]:
            factor = _repeated_factor(whole, target, penalty.op, weights)
            if factor:
                found.setdefault(penalty.op, factor)
    for op, factor in found.items():
        are, they_count = plural(len(found), "is", "are"), plural(len(found), "it counts", "they count")
        yield Hazard(
            "WEIGHT_DECAY_SCALED_TWICE",
            op,
            f"{counted(len(found), 'squared penalty', 'squared penalties')} of weights, such as {op}, "
            f"{are} multiplied by {factor:g} twice: {they_count} {factor * factor:g}",
            "multiply by the rate once; for parity keep the product",
        )
        return


def _repeated_factor(whole: WholeGraph, target: str, penalty: str, weights: Mapping[str, float]) -> float:
    """The constant below one tenth by which a penalty is multiplied twice on its way to a loss; 0 if there is none.

    Args:
      whole: the graph.
      target: the loss.
      penalty: the last node of the penalty, which may be the first such product.
      weights: the nodes that the loss is a linear function of.
    """
    factors: list[float] = []
    name: str | None = penalty
    while name is not None:
        found = constant_factor(whole, name) if whole.graph.type(name) == "Mul" else None
        factors += [found[1]] if found is not None else []
        users = [use.node for use in whole.graph.users(name) if use.node in weights and use.node != name]
        name = users[0] if len(set(users)) == 1 and name != target else None
    inner = [tensor.node for tensor in whole.graph.inputs(penalty)]
    while inner:
        found = constant_factor(whole, inner[0]) if whole.graph.type(inner[0]) == "Mul" else None
        factors += [found[1]] if found is not None else []
        inner = [found[0]] if found is not None else []
    small = [factor for factor in factors if 0 < factor < SMALL]
    return next((factor for factor in small if small.count(factor) > 1), 0.0)


def decayed_normalizations(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds scales and offsets of normalizations that squared penalties or updates lessen; one hazard for all."""
    decayed = {name: penalty.op for penalty in reversed(weight_decays(whole)) for name in penalty.variables}
    decayed = {**decays_in_updates(whole), **decayed}
    found = [name for name in parts_of_normalizations(whole) if name in decayed]
    if found:
        yield Hazard(
            "NORMALIZATION_DECAYED",
            decayed[found[0]],
            f"the weight decay contains {counted(len(found), 'scale or offset', 'scales and offsets')} of "
            f"normalizations ({listed(found, FEW)}), such as {decayed[found[0]]}, and pulls them to 0",
            "leave scales, offsets and biases out of the decay; for parity keep it",
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
    if len(own) != 1 or len(factors) < 2:
        return False
    others = graph.ancestors(set(factors) - set(own), controls=False)
    return not others & (whole.trainable | whole.data)
