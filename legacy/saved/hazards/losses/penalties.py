"""Hazards of regularization: terms that no gradient contains, or that the whole update does not contain just once.

A term's weight in what a tower differentiates is followed through sums, products with constants and means. With the
way in which gradients are combined, that gives how often the whole update contains the term.
"""

from __future__ import annotations

import collections
import functools
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.differentiation import differentiated
from legacy.saved.hazards.basics.copies import copies_of_one_model
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import (
    COPIES,
    SUMS,
    constant_factor,
    is_zero_term,
    linear_inputs,
    linear_weights,
)
from workloads.lifted.plan import Combine, is_indices_label, weight_of_label
from workloads.lifted.tensors.gradient_names import GRADIENTS, in_gradient_graphs, is_gradient_op
from workloads.support.wording import counted, plural

PENALTIES = re.compile(r"(?i)(l2loss|l2_loss|l1_loss|regularizer|weight_loss|weight_decay|weightdecay)")
#: Collections that hold terms of the loss.
LOSS_COLLECTIONS = ("regularization_losses", "losses", "weight_losses")
#: Largest factor of a sum of squares that is a weight in a loss: another, as the 2 of a norm, may be of a display.
MOST_WEIGHT = 0.1
#: Relative difference within which a count is what it should be.
TOLERANCE = 1e-3


class Penalty(NamedTuple):
    """A regularization term.

    Attributes:
      op: its last node of its own.
      variables: trainable variables that it is computed from.
      kind: the op types that it is made of, to tell an L1 term from an L2 term of the same variable.
    """

    op: str
    variables: tuple[str, ...]
    kind: tuple[str, ...]


def regularization(whole: WholeGraph, found: Analysis | None = None) -> Iterator[Hazard]:
    """Finds regularization terms that no gradient contains, or that count more or less than once in all.

    Args:
      whole: the graph.
      found: its analysis; without one, gradients are taken to be averaged.
    """
    penalties = find_penalties(whole)
    if not penalties or not whole.applies:
        return
    weights = _weights_by_target(whole, _targets(whole, found))
    towers = _towers_of_targets(whole, list(weights))
    reached = whole.graph.ancestors(list(weights), controls=False)
    groups = _corresponding(whole, penalties)
    lost = [entries for entries in groups if not any(entry.op in reached for entry in entries)]
    lost = [entries for entries in lost if any(_is_meant_for_a_loss(whole, entry.op) for entry in entries)]
    others = any(penalty.op in reached for penalty in penalties)
    lost = [entries for entries in lost if all(_is_dropped(whole, entry) for entry in entries)] if others else lost
    if lost:
        count = sum(len(entries) for entries in lost)
        yield Hazard(
            "REGULARIZATION_LOST",
            lost[0][0].op,
            f"{counted(count, 'regularization term is', 'regularization terms are')} in the graph and no gradient "
            f"contains {plural(count, 'it', 'them')}" + (", though it contains others" if others else ""),
            "leave them out for parity, or add them and say so",
        )
    yield from _miscounted(whole, found, groups, list(zip(towers, weights.values())))


def _is_dropped(whole: WholeGraph, penalty: Penalty) -> bool:
    """Whether a term with a scale, of variables that are trained, ends in nothing that an op of the graph takes."""
    graph = whole.graph
    trained = {whole.variable_of(apply) for apply in whole.applies}
    behind = graph.descendants([penalty.op], controls=False)
    is_scaled = graph.type(penalty.op) == "Mul" and bool(PENALTIES.search(penalty.op))
    adds = all(any(linear_inputs(whole, name)) for name in behind)
    return is_scaled and adds and trained.issuperset(penalty.variables) and not behind & whole.minimized


def _corresponding(whole: WholeGraph, penalties: list[Penalty]) -> list[list[Penalty]]:
    """The terms of the same variables and kind together; so are those of the towers' copies of one model, in order."""
    owners = copies_of_one_model(whole)
    numbers: collections.Counter[tuple[int | None, tuple[str, ...]]] = collections.Counter()
    groups: dict[object, list[Penalty]] = collections.OrderedDict()
    for penalty in penalties:
        key: object = (penalty.variables, penalty.kind)
        towers = {owners.get(name) for name in penalty.variables}
        if len(towers) == 1 and None not in towers:
            copy = (next(iter(towers)), penalty.kind)
            key = (numbers[copy], penalty.kind)
            numbers[copy] += 1
        groups.setdefault(key, []).append(penalty)
    return list(groups.values())


@functools.lru_cache(maxsize=2)
def find_penalties(whole: WholeGraph) -> list[Penalty]:
    """Returns the regularization terms of a graph: functions of trainable variables alone that end in a penalty's op.

    A global norm of gradients is made of the same ops, but of gradients; so is a norm of weights, by which they are
    clipped, but it ends in a root.
    """
    graph = whole.graph
    candidates = {name for name in graph.nodes if _has_penalty_op(whole, name)}
    computed = whole.data | graph.descendants(in_gradient_graphs(graph.nodes) | set(whole.writes), controls=False)
    found = []
    for name in [name for name in graph.nodes if name in candidates]:
        if name in computed or any(user in candidates for user in _users(whole, name)):
            continue
        before = graph.ancestors([name], controls=False)
        variables = tuple(sorted(whole.trainable & before))
        if not variables:
            continue
        if _has_root(whole, name):
            continue
        kind = tuple(
            sorted(graph.type(n) for n in before - set(variables) if graph.type(n) not in ("Identity", "Const"))
        )
        found.append(Penalty(name, variables, kind))
    return found


def _has_penalty_op(whole: WholeGraph, name: str) -> bool:
    """Whether a node computes or scales a penalty, by its op type or its name."""
    kind = whole.graph.type(name)
    if is_gradient_op(name) or GRADIENTS.search(name):
        return False
    if kind == "L2Loss":
        return True
    if kind == "Mul" and whole.graph.inputs(name):
        inputs = [before for before, _ in whole.graph.inputs(name)]
        if any(whole.graph.type(before) == "L2Loss" for before in inputs):
            return any(whole.value(before) is not None for before in inputs)
    # A regularizer of Keras is a product in the name scope "Regularizer".
    own = name.split("/")[-2 if re.match(r"mul(_\d+)?$", name.split("/")[-1]) else -1 :]
    return kind in ("Mul", "Sum") and bool(PENALTIES.search("/".join(own)))


def _users(whole: WholeGraph, name: str) -> set[str]:
    """The nodes that use a value, seen through copies and products with constants."""
    found: set[str] = set()
    todo = [name]
    while todo:
        for user, _, _ in whole.graph.users(todo.pop()):
            if user not in found:
                found.add(user)
                scaled = (
                    whole.graph.type(user) in ("Mul", *op_types.QUOTIENTS) and constant_factor(whole, user) is not None
                )
                if whole.graph.type(user) in COPIES or (scaled and not _has_penalty_op(whole, user)):
                    todo.append(user)
    return found


def _is_meant_for_a_loss(whole: WholeGraph, name: str) -> bool:
    """Whether a term that no gradient contains was made for a loss.

    It is in a collection of losses, has a scale, or is added to what depends on data, as in a total that is displayed.
    """
    listed = {text.partition(":")[0] for key in LOSS_COLLECTIONS for text in whole.collections.get(key, [])}
    users = _users(whole, name)
    if ({name} | users) & listed:
        return True
    if whole.graph.type(name) == "L2Loss":
        return _is_weighted_or_added(whole, name)  # a norm without a scale is only displayed
    return (
        bool(PENALTIES.search(name))
        or not all(whole.graph.type(user) in op_types.SUMMARIES for user in users)
        or not users
    )


def _has_root(whole: WholeGraph, name: str) -> bool:
    """Whether a root is taken of a value, which makes it a norm to be displayed."""
    return any(whole.graph.type(user) in ("Sqrt", "Rsqrt") for user in _users(whole, name))


def _is_weighted_or_added(whole: WholeGraph, name: str) -> bool:
    """Whether a term, by itself or in a sum of such, has a small weight, or is added to what depends on data."""
    seen, todo = {name}, [name]
    while todo:
        for user, _, _ in whole.graph.users(todo.pop()):
            if user in whole.data and whole.graph.type(user) in SUMS:
                return True
            scaled = constant_factor(whole, user)
            if scaled is not None and 0 < abs(scaled[1]) <= MOST_WEIGHT and not _has_root(whole, user):
                return True
            if user not in seen and any(linear_inputs(whole, user)):
                seen.add(user)
                todo.append(user)
    return False


def _targets(whole: WholeGraph, found: Analysis | None) -> list[str]:
    """The nodes that `tf.gradients` started from, on the way to an update."""
    if found is None:
        return whole.targets
    return differentiated(whole.graph, {name for name in whole.reach if name in whole.members} or whole.reach)


def _towers_of_targets(whole: WholeGraph, targets: list[str]) -> list[int | None]:
    """The tower whose loss each target is; None for one that is made from all towers' losses.

    A tower's loss may contain others' terms, as a sum does of a collection that all towers add to.
    """
    placed = [whole.labels.get(target) for target in targets]
    if None not in placed and set(placed) == set(whole.towers()):
        return placed
    towers = [whole.data_towers(target) if whole.count > 1 else {0} for target in targets]
    return [next(iter(found)) if len(found) == 1 else None for found in towers]


def _weights_by_target(whole: WholeGraph, targets: list[str]) -> dict[str, dict[str, float]]:
    return {target: linear_weights(whole, target) for target in targets}


def _miscounted(
    whole: WholeGraph,
    found: Analysis | None,
    groups: list[list[Penalty]],
    targets: list[tuple[int | None, dict[str, float]]],
) -> Iterator[Hazard]:
    """Finds terms whose weight in the whole update is not that of one tower."""
    if whole.count < 2 or not targets:
        return
    own = [(tower, weights) for tower, weights in targets if tower is not None]
    if len(own) < len(targets):
        return  # one loss of all towers contains each term as often as it is written
    wrong: dict[tuple[tuple[int, ...], float, float], list[Penalty]] = collections.OrderedDict()
    terms = {entry.op: entry for entries in groups for entry in entries}
    for entries in groups:
        if all(is_zero_term(whole, entry.op) for entry in entries):
            continue  # it does nothing, however often it counts
        if all(_is_sum_of_terms(whole, entry, terms) for entry in entries):
            continue  # each of these terms is counted by itself: towers may sum them over other variables
        factor = _combining_factor(found, entries[0].variables[0], whole.count)
        counts = {tower: sum(1 for entry in entries if weights.get(entry.op)) for tower, weights in own}
        if factor is None or not any(counts.values()):
            continue
        total = _times_counted(whole, entries, own, factor, min(count for count in counts.values() if count))
        if abs(total - 1) > TOLERANCE:
            each = tuple(counts.get(tower, 0) for tower in whole.towers())
            wrong.setdefault((each, round(total, 6), factor), []).append(entries[0])
    for (each, total, factor), entries in wrong.items():
        yield _miscount_hazard(each, total, factor, entries)


def _is_sum_of_terms(whole: WholeGraph, penalty: Penalty, terms: Mapping[str, Penalty]) -> bool:
    """Whether a penalty is a linear function of other terms, which have all its variables."""
    parts = [terms[name] for name in linear_weights(whole, penalty.op) if name in terms and name != penalty.op]
    return {name for part in parts for name in part.variables} == set(penalty.variables)


def _times_counted(
    whole: WholeGraph, entries: list[Penalty], own: list[tuple[int, dict[str, float]]], factor: float, least: int
) -> float:
    """Returns the number of times that the whole update contains a term, in units of one tower's term.

    Args:
      whole: the graph.
      entries: the term, in each tower that has one of its own.
      own: (tower, weights of what it differentiates).
      factor: on each tower's gradient in the update.
      least: number of such terms in the tower that has the fewest.
    """
    terms = [sum(abs(weights.get(entry.op, 0.0)) for entry in entries) for _, weights in own]
    data = [data_weight(whole, weights) for _, weights in own]
    single = max(abs(weights.get(entry.op, 0.0)) for _, weights in own for entry in entries)
    shares = [term / weight for term, weight in zip(terms, data)]
    alike = max(shares) - min(shares) <= TOLERANCE * max(shares)
    undivided = abs(factor - 1) <= TOLERANCE and abs(max(shares) - len(own) * least) <= TOLERANCE
    if alike and not undivided:
        return 1.0  # it has the same part in every tower's loss, and so in the whole
    mean_of_losses = abs(single * len(own) - 1) <= TOLERANCE
    return sum(terms) * factor / least / (1.0 if mean_of_losses else single)


def _miscount_hazard(each: tuple[int, ...], total: float, factor: float, entries: list[Penalty]) -> Hazard:
    names = list(dict.fromkeys(name for entry in entries for name in entry.variables))
    listed = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    how = "averaged" if abs(factor * len(each) - 1) < TOLERANCE else "summed"
    least = min(count for count in each if count)
    times = "it counts once" if total * least == 1 else f"it counts {total * least:g} times"
    if least > 1:
        times += f", {total:g} times as often as in a tower with {least}"
    return Hazard(
        "REGULARIZATION_ONCE",
        entries[0].op,
        f"regularization of {counted(len(names), 'variable')} ({listed}): terms in each tower's loss: "
        f"{', '.join(map(str, each))}; {how} over {len(each)} towers {times}",
        "add it to every replica's loss, scaled by 1 / N for one count in all; for what the old program did, by "
        f"{total / len(each):g}",
    )


def _combining_factor(found: Analysis | None, variable: str, count: int) -> float | None:
    """The factor on each tower's gradient of a variable in the update; None where it is not known.

    It is the most frequent one: what multiplies the gradients of some variables, of a last layer for instance, counts
    for their losses as much as for their penalties.
    """
    if found is None:
        return 1.0 / count
    entries = [entry for phase in found.plan.phases for entry in phase.combine if not is_indices_label(entry.weight)]
    known = [entry for entry in entries if entry.kind != "kept as written"]
    sums = set(found.context.accumulators)  # of gradients that other runs apply to the weights
    factors = [1.0 / count if entry.kind == "mean" else entry.scale for entry in known]
    is_known = any(_is_of(entry, variable) or entry.weight in sums for entry in known)
    # One that is not recognised, as of rows and a penalty on all rows, is taken to be as all others are.
    of_all = [entry for entry in entries if all(entry.parts) and len(entry.parts) == count]
    is_as_others = len(set(factors)) == 1 and any(_is_of(entry, variable) for entry in of_all)
    if not is_known and not is_as_others:
        return None
    return collections.Counter(factors).most_common(1)[0][0]


def _is_of(entry: Combine, variable: str) -> bool:
    """Whether a combined gradient is that of a variable, also on its way into a slot, as rows have it."""
    label = weight_of_label(entry.weight)
    return label == variable or label.startswith(variable + "/")


def data_weight(whole: WholeGraph, weights: dict[str, float]) -> float:
    """Returns the largest weight, in what a tower differentiates, of a term that depends on data.

    Args:
      whole: the graph.
      weights: {node: weight} of what is differentiated; see `linear_weights`.
    """
    ends = [name for name in weights if name in whole.data and not list(linear_inputs(whole, name))]
    return max((abs(weights[name]) for name in ends), default=1.0)
