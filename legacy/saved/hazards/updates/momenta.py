"""Hazards of momenta by hand: before an optimizer that has one of its own, or one for each tower's gradients."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Set

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.beginnings import first_value
from legacy.saved.hazards.basics.directions import applied_gradient
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.kept_shares import kept_share
from legacy.saved.hazards.basics.linear_weights import linear_weights
from legacy.saved.hazards.basics.variable_reads import variable_read
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import FEW, counted, listed

#: Update rules that keep a moving average of gradients.
_RULES = ("Momentum", "KerasMomentum", "Adam", "AdaMax")
#: {the t of 1 - b^t that a read of the count gives before the first step: how to make it 1 in that step}.
_ORDERS: dict[float | None, str] = {
    0: "take what the assignment returns, or read under tf.control_dependencies",
    1: "assign the count under tf.control_dependencies of its read",
}
_SOME_ORDER = "make one of both wait for the other, so that t is 1 in the first step"


def momentum_twice(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds update rules with a momentum that take a moving average of gradients; one hazard for all."""
    averages = {
        name: kept for name in whole.writes if name in whole.members for kept in [_kept(whole, name)] if 0 < kept < 1
    }
    by_variable = {whole.writes[name]: name for name in averages}
    found: dict[str, tuple[str, str]] = {}
    for apply in whole.applies if averages else []:
        rule = op_types.rule_name(whole.graph.type(apply))
        if rule in _RULES and apply in whole.members:
            for name in linear_weights(whole, applied_gradient(whole, apply)):
                average = name if name in averages else by_variable.get(variable_read(whole.graph, name))
                if average is not None:
                    found.setdefault(whole.variable_of(apply) or apply, (average, rule))
    for average, rule in found.values():
        yield Hazard(
            "MOMENTUM_TWICE",
            average,
            f"gradients of {counted(len(found), 'variable')} ({listed(list(found), FEW)}) have a momentum "
            f"twice: {average} keeps {averages[average]:.4g} of the last ones, and {rule} averages the result again",
            "leave out one of both; for parity keep both",
        )
        return


def momenta_of_towers(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds weights that follow moving averages of each tower's own gradients; one hazard for all."""
    own: dict[int, list[str]] = collections.defaultdict(list)
    for name, variable in whole.writes.items() if whole.count > 1 else ():
        if name in whole.members and variable not in whole.trainable and not whole.is_scalar(variable):
            towers = _towers_averaged(whole, name)
            if len(towers) == 1:
                own[towers.pop()].append(variable)
    numbers = {len(variables) for variables in own.values()}
    if len(own) < whole.count or len(numbers) > 1:
        return
    kept = [variables[0] for _, variables in sorted(own.items())]
    behind = whole.graph.descendants(kept, controls=False)
    if any(whole.writes.get(name) in whole.trainable for name in behind):
        yield Hazard(
            "MOMENTUM_OF_EACH_TOWER",
            kept[0],
            f"each of the {whole.count} towers keeps a moving average of its own gradients for "
            f"{counted(numbers.pop(), 'weight')}, such as {listed(kept, FEW)}: one for the combined gradient is "
            "usual",
            "one slot for the reduced gradient; the mean of the towers' is the same, where all keep equal parts and "
            "begin at 0; for parity each replica keeps its own",
        )


def _towers_averaged(whole: WholeGraph, name: str) -> set[int]:
    """The towers whose gradients an assignment adds to a part of what the variable had; empty if it does not."""
    kept = kept_share(whole, name)
    gradients = [node for node in kept.weights if is_gradient_op(node)]
    return whole.towers_of(gradients) if gradients and 0 < kept.share < 1 else set()


def _kept(whole: WholeGraph, name: str) -> float:
    """The part of its value that a variable keeps in a change that adds gradients to it; 0 for any other change."""
    if whole.writes[name] in whole.trainable:
        return 0.0
    kept = kept_share(whole, name)
    return kept.share if any(map(is_gradient_op, kept.weights)) else 0.0


def unordered_corrections(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds updates by hand that correct by 1 - b^t while the same run counts t, in no order; one hazard for all."""
    graph = found.cut.graph
    for phase in found.plan.phases:
        by_hand = {effect.node for effect in phase.effects if effect.writes[0] in whole.trainable}
        by_hand = {name for name in by_hand if not op_types.is_apply(graph.type(name))}
        for race in phase.races if by_hand else []:
            update = race.second if race.reader == race.first else race.first
            if race.reader is None or race.variable in whole.trainable or not whole.is_scalar(race.variable):
                continue
            behind = graph.descendants([race.reader], controls=False)
            differences = [name for name in behind if graph.type(name) == "Sub"]
            corrections = [name for name in differences if _is_correction(whole, name, race.variable)]
            if corrections and behind & by_hand and update not in behind:
                first = {_first_count(whole, name, race.variable) for name in corrections}
                yield Hazard(
                    "CORRECTION_RACE",
                    race.reader,
                    f"an update by hand corrects by 1 - b^t, of {race.variable}, which the same run changes in no "
                    f"order: {race.reader} may read it before or after {update}{_first_step_text(first)}",
                    _ORDERS.get(first.pop() if len(first) == 1 else None, _SOME_ORDER) + "; the lift fixes one order",
                )
                return


def _first_step_text(first: Set[float | None]) -> str:
    """The rest of a sentence on the first step of corrections whose reads of the count give these before it."""
    if 0 in first:
        return "; a count of 0, as at first, makes it divide by 0"
    return "; in the first step t is 1 or 2, and Adam's is 1" if first == {1} else ""


def _is_correction(whole: WholeGraph, name: str, variable: str) -> bool:
    """Whether a node is 1 - b^t of a number b, or 1 less a variable that holds such a power."""
    graph = whole.graph
    if name not in graph.nodes or len(graph.inputs(name)) < 2 or whole.value(graph.inputs(name)[0].node) != 1:
        return False
    power = graph.origin(graph.inputs(name)[1]).node
    if graph.type(power) == "Pow":
        return whole.value(graph.inputs(power)[0].node) is not None
    return variable_read(graph, power) == variable


def _first_count(whole: WholeGraph, name: str, variable: str) -> float | None:
    """The t of 1 - b^t before the first step, of a variable that counts or holds the power; None if not known."""
    graph, first = whole.graph, first_value(whole, variable)
    power = graph.origin(graph.inputs(name)[1]).node
    if graph.type(power) != "Pow":
        return None if first is None else float(first != 1)  # b^0, or else b^1
    exponent = graph.inputs(power)[1].node
    while graph.type(exponent) in op_types.COPIES:
        exponent = graph.inputs(exponent)[0].node
    terms = graph.inputs(exponent) if graph.type(exponent) in op_types.ADDITIONS else []
    added = [whole.value(term.node) for term in terms]
    counts = [term.node for term, number in zip(terms, added) if number is None] if terms else [exponent]
    if first is None or len(counts) != 1 or variable_read(graph, counts[0]) != variable:
        return None
    return first + sum(number for number in added if number is not None)
