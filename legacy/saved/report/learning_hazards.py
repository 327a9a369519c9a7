"""Hazards in what is learned and shown: regularization, batch statistics, batch sizes, inputs, summaries."""

from __future__ import annotations

import collections
import re
from collections.abc import Iterator

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.graph.gradient_names import forward_name, is_gradient_op
from legacy.saved.report.hazard import Hazard, plural
from legacy.saved.report.update_sources import updating_towers
from legacy.saved.report.whole_graph import WholeGraph, ancestors_of_tensors
from workloads.lifted.graph import Graph

SUMMARIES = ("ScalarSummary", "ScalarSummaryV2")
PENALTIES = re.compile(r"(?i)(l2loss|l2_loss|regularizer|weight_loss|weight_decay)")
#: A divisor this near to an integer, relatively, is one: it is stored as a float32, or as its reciprocal.
INTEGER_TOLERANCE = 1e-4
#: Stands for the towers that update a statistic where several update ops change it.
IN_TURN = (-1,)


def regularization(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds regularization terms that no gradient contains, or only some towers' gradients."""
    penalties = [name for name in whole.graph.nodes if _is_penalty(whole, name)]
    if not penalties or not whole.applies:
        return
    known = set(penalties)
    forward = {name: forward_name(name) for name in whole.reach if is_gradient_op(name)}
    counted = {(whole.labels.get(name, 0), op) for name, op in forward.items() if op is not None and op in known}
    alive = [tower for tower in whole.towers() if whole.reach & set(whole.backward(tower))] or [0]
    per_tower = [sum(1 for tower, _ in counted if tower == t) for t in alive]
    if not any(per_tower):
        yield Hazard(
            "REGULARIZATION_LOST",
            penalties[0],
            f"{len(penalties)} regularization terms are in the graph and no gradient contains them",
            "leave them out for parity, or add them and say so",
        )
    elif len(set(per_tower)) > 1:
        listed = ", ".join(map(str, per_tower))
        yield Hazard(
            "REGULARIZATION_ONCE",
            next(penalty for _, penalty in sorted(counted)),
            f"regularization terms by tower: {listed}; averaged over {len(alive)} towers they count "
            f"{sum(per_tower) / len(alive):g} of {max(per_tower)}",
            "add them to every replica's loss, scaled by 1 / N for what the old program did; "
            "tf.nn.scale_regularization_loss for all of it",
        )


def _is_penalty(whole: WholeGraph, name: str) -> bool:
    """Whether a node computes a regularization term; a global norm of gradients is made of the same op."""
    kind, last = whole.graph.type(name), name.split("/")[-1]
    named = kind in ("Mul", "Sum") and not is_gradient_op(name) and PENALTIES.search(last)
    if kind != "L2Loss" and not named:
        return False
    return not any(is_gradient_op(before) for before in whole.graph.ancestors([name], controls=False))


def statistics(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds statistics that are updated from one tower's batches, or by several towers in turn."""
    towers = found.plan.towers
    groups = _statistics_by_towers(found)
    even = len({len(groups.get((tower,), ())) for tower in range(towers)}) == 1
    if towers < 2 or (even and IN_TURN not in groups):  # each tower has as many of its own: they are carried state
        return
    advice = "the lift keeps this order; in new code, variables with aggregation ONLY_FIRST_REPLICA or MEAN"
    for who, names in groups.items():
        count = f"{len(names)} {plural(len(names), 'statistic is', 'statistics are')} updated by"
        if who == IN_TURN:
            text = f"{count} several towers one after the other, in no fixed order"
            yield Hazard("STATISTICS_RACE", names[0], text, advice)
        elif who in ((towers - 1,), (0,)):
            text = f"{count} the {'last' if who == (towers - 1,) else 'first'} tower only"
            yield Hazard("STATISTICS_OF_ONE_TOWER", names[0], text, advice)


def _statistics_by_towers(found: Analysis) -> dict[tuple[int, ...], list[str]]:
    """{towers that update them: statistics}."""
    roles = {variable.name for variable in found.plan.variables if variable.role in ("statistic", "state")}
    updates = collections.defaultdict(list)
    for phase in found.plan.phases:
        for effect in phase.effects:
            towers = tuple(updating_towers(found.cut.graph, phase, effect))
            for name in set(effect.writes) & roles:
                updates[name].append(towers)
    groups = collections.defaultdict(list)
    for name, each in updates.items():
        groups[IN_TURN if len(each) > 1 else each[0]].append(name)
    return groups


def batch_constants(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds sums over examples in the loss that are divided by a constant other than a tower's number of examples."""
    graph, batch = found.cut.graph, found.plan.batch
    losses_of_tower = [loss for phase in found.plan.phases for loss in phase.losses[:1]]
    for loss in losses_of_tower:
        for name in ancestors_of_tensors(graph, [loss]):
            divisor = _divisor_of_sum(whole, graph, name)
            if divisor is not None and divisor not in (batch, 1):
                text = _divided_text(divisor, batch, found.plan.towers)
                advice = "tf.nn.compute_average_loss with the global batch, and reduce with SUM"
                yield Hazard("BATCH_SIZE_CONSTANT", name, text, advice)


def _divided_text(divisor: int, batch: int | None, towers: int) -> str:
    if batch is None:
        return f"a sum over examples is divided by {divisor:g}, and the inputs take any batch"
    if divisor == batch * towers:
        return f"a sum over a tower's {batch} examples is divided by all towers' {divisor:g}"
    return f"a sum over a tower's {batch} examples is divided by {divisor:g}"


def _divisor_of_sum(whole: WholeGraph, graph: Graph, name: str) -> int | None:
    """The integer c > 1 of a forward node `Sum(...) / c` or `Sum(...) * (1 / c)`; None for any other node."""
    if graph.type(name) not in ("RealDiv", "Div", "Mul") or is_gradient_op(name):
        return None
    values = [(whole.value(p), i) for i, (p, _) in enumerate(graph.inputs(name)) if p in whole.graph.nodes]
    constants = [(value, i) for value, i in values if value is not None]
    if len(constants) != 1 or not constants[0][0]:
        return None
    value, position = constants[0]
    other = graph.inputs(name)[1 - position][0]
    while graph.type(other) == "Identity":
        other = graph.inputs(other)[0][0]
    divisor = value if graph.type(name) != "Mul" else 1.0 / value
    is_integer = divisor > 1 and abs(divisor - round(divisor)) < INTEGER_TOLERANCE * divisor
    return round(divisor) if graph.type(other) == "Sum" and is_integer else None


def same_batch(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds towers that all get the same data."""
    same, towers = [entry for entry in found.plan.inputs if entry.kind == "same"], found.plan.towers
    if towers > 1 and same and len(same) == len(found.plan.inputs):
        yield Hazard(
            "SAME_BATCH",
            same[0].name,
            f"all {towers} towers get the same batch: {towers} times the work for one batch's gradient",
            "distribute one global dataset, or shard by the replica's number; parity needs the same batch on each",
        )


def reports_of_one_tower(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds summaries of one tower's values where no other tower has a summary."""
    if whole.count < 2:
        return
    summaries = collections.defaultdict(list)
    for name in [name for name in whole.graph.nodes if whole.graph.type(name) in SUMMARIES]:
        towers = whole.towers_of(whole.graph.ancestors([name], controls=False))
        if len(towers) == 1:
            summaries[towers.pop()].append(name)
    if len(summaries) == 1:
        tower, names = next(iter(summaries.items()))
        yield Hazard(
            "REPORTED_BY_ONE_TOWER",
            names[0],
            f"{len(names)} {plural(len(names), 'summary shows', 'summaries show')} tower {tower} alone",
            "strategy.reduce the per-replica values before they are written",
        )
