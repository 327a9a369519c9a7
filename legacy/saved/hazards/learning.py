"""Hazards of batch statistics, of divisors by a batch size, of examples that towers share, and of summaries."""

from __future__ import annotations

import collections
from collections.abc import Iterator

import numpy as np

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.update_sources import UpdateSources
from legacy.saved.facts.whole_graph import WholeGraph, ancestors_of_tensors
from legacy.saved.hazards.hazard import Hazard
from workloads.lifted.graph import Graph
from workloads.lifted.plan import Input
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import counted

SUMMARIES = ("ScalarSummary", "ScalarSummaryV2")
#: Relative difference within which a divisor is an integer: it is stored as a float32, or as its reciprocal.
INTEGER_TOLERANCE = 1e-4
#: Stands for the towers that update a statistic where several update ops change it.
IN_TURN = (-1,)


def statistics(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds statistics that are updated from one tower's batches, or by several towers in turn."""
    towers = found.plan.towers
    groups = _statistics_by_towers(found)
    even = len({len(groups.get((tower,), ())) for tower in range(towers)}) == 1
    if towers < 2 or (even and IN_TURN not in groups):  # each tower has as many of its own: they are carried state
        return
    advice = "the lift keeps this order; in new code, variables with aggregation ONLY_FIRST_REPLICA or MEAN"
    for who, names in groups.items():
        count = f"{counted(len(names), 'statistic is', 'statistics are')} updated by"
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
        sources = UpdateSources(found.cut.graph, phase)
        for effect in phase.effects:
            towers = tuple(sources.towers(effect))
            for name in set(effect.writes) & roles:
                updates[name].append(towers)
    raced = {race.variable for phase in found.plan.phases for race in phase.races if race.reader is None}
    groups = collections.defaultdict(list)
    for name, each in updates.items():
        in_turn = len(each) > 1 and len(set().union(*each)) > 1
        if not in_turn:
            groups[each[0]].append(name)
        elif name in raced:
            groups[IN_TURN].append(name)
    return groups


def batch_constants(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds sums over examples in the loss that are divided by a constant other than a tower's number of examples."""
    plan, graph = found.plan, found.cut.graph
    summed = {combine.kind for phase in plan.phases for combine in phase.combine} <= {"sum", "concat"}
    for loss in [loss for phase in plan.phases for loss in phase.losses[:1]]:
        for name in ancestors_of_tensors(graph, [loss]):
            divisor, total = _divisor_of_sum(whole, graph, name) or (0, "")
            counts = _counts_of_examples(found, total) if divisor else set()
            if not counts or divisor in counts or (summed and divisor in {n * plan.towers for n in counts}):
                continue
            if graph.type(name) == "Mul" and divisor not in {n * plan.towers for n in counts}:
                continue  # the weight of a term
            text = _divided_text(divisor, plan.batch, plan.towers)
            advice = "tf.nn.compute_average_loss with the global batch, and reduce with SUM"
            yield Hazard("BATCH_SIZE_CONSTANT", name, text, advice)


def _counts_of_examples(found: Analysis, total: str) -> set[int]:
    """The divisors that turn a sum over a tower's examples into a mean; {0} for an open batch, none for another sum.

    A sum over examples and their elements may be divided by the number of examples or of elements.
    """
    graph, imported, batch = found.cut.graph, found.context.imported, found.plan.batch
    inputs = graph.inputs(total)
    shape, axes = imported.shape(*inputs[0]), imported.constant(*inputs[1]) if len(inputs) > 1 else None
    if inputs[0].node not in found.context.data or not shape or shape[0] != batch:
        return set()
    reduced = set(range(len(shape))) if axes is None else {int(axis) % len(shape) for axis in np.ravel(axes)}
    if 0 not in reduced:
        return set()
    if batch is None:
        return {0}
    counts = {batch}
    for axis in sorted(reduced - {0}):
        counts |= {count * (shape[axis] or 1) for count in counts}
    return counts


def _divided_text(divisor: int, batch: int | None, towers: int) -> str:
    if batch is None:
        return f"a sum over examples is divided by {divisor:g}, and the inputs take any batch"
    if divisor == batch * towers:
        return f"a sum over a tower's {batch} examples is divided by all towers' {divisor:g}"
    return f"a sum over a tower's {batch} examples is divided by {divisor:g}"


def _divisor_of_sum(whole: WholeGraph, graph: Graph, name: str) -> tuple[int, str] | None:
    """(c > 1, the Sum) of a forward node `Sum(...) / c` or `Sum(...) * (1 / c)`; None for any other node."""
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
    return (round(divisor), other) if graph.type(other) == "Sum" and is_integer else None


def same_batch(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds towers that all get the same examples, or the same of one input beside different ones of another."""
    towers, inputs = found.plan.towers, found.plan.inputs
    same = [entry for entry in inputs if entry.kind == "same" and _holds_examples(found, entry)]
    own = [entry for entry in inputs if entry.kind == "batch" and len(set(entry.tensors)) == len(entry.tensors)]
    if towers < 2 or not same:
        return
    advice = "distribute one global dataset, or shard by the replica's number; parity needs the same batch on each"
    names = ", ".join(entry.name for entry in same)
    if own:
        others = ", ".join(entry.name for entry in own)
        text = f"{names}: all {towers} towers get the same rows; {others}: each tower gets its own"
    else:
        text = f"all {towers} towers get the same batch: {towers} times the work for one batch's gradient"
    yield Hazard("SAME_BATCH", same[0].name, text, advice)


def _holds_examples(found: Analysis, entry: Input) -> bool:
    """Whether an input has a row for each example: as many as the batch of a tower or of all, or any number."""
    rows = entry.shape[0] if entry.shape else 0
    own = [other for other in found.plan.inputs if other.kind == "batch"]
    if not own:
        return bool(entry.shape)
    batch = found.plan.batch
    return rows == batch if batch is None else rows in (batch, batch * found.plan.towers)


def reports_of_one_tower(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds summaries of one tower's results where no summary shows another tower's; only merged ones are written."""
    if whole.count < 2:
        return
    graph = whole.graph
    scalars = [name for name in graph.nodes if graph.type(name) in SUMMARIES]
    merges = [name for name in graph.nodes if graph.type(name) == "MergeSummary"]
    written = graph.ancestors(merges, controls=False) if merges else set(scalars)
    summaries = collections.defaultdict(list)
    for name in [name for name in scalars if name in written]:
        towers = whole.data_towers(name)
        if len(towers) > 1:
            return  # a summary of all towers' results is written too
        if towers:
            summaries[towers.pop()].append(name)
    if len(summaries) == 1:
        tower, names = next(iter(summaries.items()))
        yield Hazard(
            "REPORTED_BY_ONE_TOWER",
            names[0],
            f"{counted(len(names), 'summary shows', 'summaries show')} tower {tower} alone",
            "strategy.reduce the per-replica values before they are written",
        )
