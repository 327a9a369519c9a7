"""Hazards of regularization: terms that no gradient contains, or that the whole update does not contain just once.

A term's weight in what a tower differentiates is followed through sums, products with constants and means. With the
way in which gradients are combined, that gives how often the whole update contains the term.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph.differentiation import differentiated
from legacy.saved.hazards.basics.copies import copies_of_one_model
from legacy.saved.hazards.basics.directions import trained_by
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import data_weight, is_zero_term, linear_weights
from legacy.saved.hazards.penalties.added_later import is_added_later
from legacy.saved.hazards.penalties.lost import lost_penalties
from legacy.saved.hazards.penalties.terms import Penalty, find_penalties
from legacy.saved.hazards.penalties.undivided import is_undivided
from legacy.saved.hazards.penalties.unnamed import unnamed_penalties
from workloads.lifted.plan import Combine, is_indices_label, weight_of_label
from workloads.support.wording import counted, plural

#: Relative difference within which a count is what it should be.
TOLERANCE = 1e-3


def regularization(whole: WholeGraph, found: Analysis | None = None) -> Iterator[Hazard]:
    """Finds regularization terms that no gradient contains, or that count more or less than once in all.

    Args:
      whole: the graph.
      found: its analysis; without one, gradients are taken to be averaged.
    """
    if not whole.applies:
        return
    penalties = find_penalties(whole)
    weights = _weights_by_target(whole, _targets(whole, found))
    towers = _towers_of_targets(whole, list(weights))
    reached = whole.graph.ancestors([*weights, *whole.targets], controls=False)  # also those of another train op
    groups = _corresponding(whole, penalties)
    lost = lost_penalties(whole, groups, reached)
    if lost and (weights or whole.targets):  # where the names tell no loss, none tells what it contains
        others = any(penalty.op in reached for penalty in penalties)
        count = sum(len(entries) for entries in lost)
        yield Hazard(
            "REGULARIZATION_LOST",
            lost[0][0].op,
            f"{counted(count, 'regularization term is', 'regularization terms are')} in the graph and no gradient "
            f"contains {plural(count, 'it', 'them')}" + (", though it contains others" if others else ""),
            "leave them out for parity, or add them and say so",
        )
    groups += _corresponding(whole, unnamed_penalties(whole, penalties, weights))
    trained = trained_by(whole)
    trains = [trained.get(target, set()) for target in weights]
    yield from _miscounted(whole, found, groups, list(zip(towers, weights.values(), trains)))


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


def _targets(whole: WholeGraph, found: Analysis | None) -> list[str]:
    """The nodes that `tf.gradients` started from, on the way to an update."""
    if found is None:
        return whole.targets
    return differentiated(whole.graph, {name for name in whole.reach if name in whole.members} or whole.reach)


def _towers_of_targets(whole: WholeGraph, targets: list[str]) -> list[int | None]:
    """The tower whose loss each target is; None for one of no tower, or made from all towers' losses.

    A tower's loss may contain others' terms, as a sum does of a collection that all towers add to.
    """
    placed = [None if is_added_later(whole, target) else whole.labels.get(target) for target in targets]
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
    targets: list[tuple[int | None, dict[str, float], set[str]]],
) -> Iterator[Hazard]:
    """Finds terms whose weight in the whole update is not that of one tower.

    Args:
      whole: the graph.
      found: its analysis.
      groups: the terms of the same variables together.
      targets: (tower, weights of what it differentiates, variables that the derivatives train).
    """
    if whole.count < 2 or not targets:
        return
    every = [(tower, weights, trains) for tower, weights, trains in targets if tower is not None]
    if len(every) < len(targets):
        return  # one loss of all towers contains each term as often as it is written
    wrong: dict[tuple[tuple[int, ...], float, float], list[Penalty]] = collections.OrderedDict()
    terms = {entry.op: entry for entries in groups for entry in entries}
    for entries in groups:
        if all(is_zero_term(whole, entry.op) for entry in entries):
            continue  # it does nothing, however often it counts
        if all(_is_sum_of_terms(whole, entry, terms) for entry in entries):
            continue  # each of these terms is counted by itself: towers may sum them over other variables
        # A loss that trains other weights only, as that of the other net of a GAN, adds nothing by such a term.
        training = [target for target in every if target[2] & set(entries[0].variables)] or every
        own = [(tower, weights) for tower, weights, _ in training]
        factor = _combining_factor(found, entries[0].variables[0], whole.count)
        counts = {tower: sum(1 for entry in entries if weights.get(entry.op)) for tower, weights in own}
        if factor is None or not any(counts.values()):
            continue
        least = min(count for count in counts.values() if count)
        total = _times_counted(whole, entries, own, factor, least)
        if total == 1 and found is not None and _is_summed_undivided(whole, found, entries, own, factor):
            total = len(own)
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


def _is_summed_undivided(
    whole: WholeGraph, found: Analysis, entries: list[Penalty], own: list[tuple[int, dict[str, float]]], factor: float
) -> bool:
    """Whether each tower has a term that the towers' sum does not make a mean of, as it does of what depends on data.

    Args:
      whole: the graph.
      found: its analysis.
      entries: the term, in each tower that has one of its own.
      own: (tower, weights of what it differentiates).
      factor: on each tower's gradient in the update.
    """
    terms = [[entry.op for entry in entries if weights.get(entry.op)] for _, weights in own]
    return (
        len(own) > 1
        and abs(factor - 1) <= TOLERANCE
        and all(len(names) == 1 for names in terms)
        and all(is_undivided(whole, found, names[0], weights) for names, (_, weights) in zip(terms, own))
    )


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
