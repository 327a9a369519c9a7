"""Hazards of the updates: a step that trains nothing, changes in no order, gradients summed beside means."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from legacy.saved.analysis import updates_by_hand
from legacy.saved.analysis.analyse import Analysis
from legacy.saved.analysis.reduction.multipliers import factor_behind_rows, gradient_of_moments, multiplier_of_mean
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.copies import masters_of_copies
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import linear_weights
from legacy.saved.runs.accumulation import accumulating_writes
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import Combine, Phase, is_indices_label, weight_of_label
from workloads.support.wording import counted, listed

#: Of variables, so many are named.
MOST_NAMED = 3
#: Relative difference within which a scale is one, or one over the number of towers.
TOLERANCE = 1e-5


def nothing_trained(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds train ops that change no weight for a reason: no gradient, a loss without data, a learning rate of 0."""
    for phase in found.plan.phases:
        reason = _reason_for_nothing(whole, found, phase)
        if reason is not None:
            yield Hazard(
                "NOTHING_TRAINED",
                phase.train_op,
                f"{phase.train_op} trains nothing: {reason}",
                "a port that does the same proves nothing: look for the graph, or the train op, that trains",
            )


def _sets_copies(whole: WholeGraph, phase: Phase) -> bool:
    """Whether a turn sets variables to other variables' values, and changes no others, as where a worker reads them."""
    graph = whole.graph
    run = graph.ancestors([phase.train_op]) if phase.train_op in graph.nodes else set()
    masters, written = masters_of_copies(whole), {whole.writes[name] for name in run if name in whole.writes}
    return bool(written) and written <= set(masters)


def _bounds_weights(whole: WholeGraph, phase: Phase) -> bool:
    """Whether a turn changes weights, each by its own value alone, as one that clips them does."""
    graph = whole.graph
    run = graph.ancestors([phase.train_op]) if phase.train_op in graph.nodes else set()
    written = {name: variable for name, variable in whole.writes.items() if name in run}
    return bool(written) and all(
        variable in whole.trainable and variable in graph.ancestors([graph.inputs(name)[-1].node], controls=False)
        for name, variable in written.items()
    )


def _reason_for_nothing(whole: WholeGraph, found: Analysis, phase: Phase) -> str | None:
    graph, imported = found.cut.graph, found.context.imported
    rates = [effect.learning_rate for effect in phase.effects if effect.learning_rate]
    constants = [imported.constant(*parse_tensor_name(rate)) for rate in rates]
    if rates and all(value is not None and not np.any(value) for value in constants):
        return "the learning rate is 0"
    if len(found.plan.phases) > 1 and (_bounds_weights(whole, phase) or _sets_copies(whole, phase)):
        return None
    if not phase.combine and not any(phase.gradients):
        rules = {name for name in found.context.state.rules if name in graph.nodes}
        return None if accumulating_writes(graph, rules) else "no gradient reaches an update"
    if not phase.losses:
        return None
    name = parse_tensor_name(phase.losses[0]).node
    constant = imported.constant(name)
    if constant is not None:
        return f"the loss {name} is always {float(np.sum(constant)):g}"
    weights = linear_weights(whole, name) if name in whole.graph.nodes else {}
    leaves = [weight for node, weight in weights.items() if node in whole.data and node != name]
    if leaves and not any(leaves):
        return f"the loss {name} is multiplied by 0"
    before = graph.ancestors([name], controls=False)
    trained = {effect.writes[0] for effect in phase.effects if effect.node in found.context.state.rules}
    if not before & set(found.context.state.variables):
        return f"the loss {name} depends on no variable"
    masters = masters_of_copies(whole)
    if trained and not before & trained and not {masters.get(name) for name in before} & trained:
        return f"the loss {name} depends on none of the variables that are updated"
    data = before & found.context.data or before & (set(found.context.state.variables) - trained)
    return None if data or _large_constants(found, before) else f"the loss {name} depends on no data"


def _large_constants(found: Analysis, names: set[str]) -> bool:
    """Whether some node is a constant of several numbers: data may be part of the graph."""
    constants = [name for name in names if found.cut.graph.type(name) == "Const"]
    dtypes = [(name, found.context.imported.shape(name)) for name in constants]
    return any(shape and int(np.prod([size or 1 for size in shape])) > 1 for _, shape in dtypes)


def unordered_changes(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds weights that a step updates and assigns besides, such as clipped ones of a critic, in no order."""
    rules = found.context.state.rules
    for phase in found.plan.phases:
        pairs = [(race.variable, (race.first, race.second)) for race in phase.races if race.reader is None]
        mixed = {variable: pair for variable, pair in reversed(pairs) if len(rules & set(pair)) == 1}
        if mixed:
            variable, pair = next(iter(mixed.items()))
            yield Hazard(
                "WEIGHTS_RACE",
                next(name for name in pair if name not in rules),
                f"{counted(len(mixed), 'weight is', 'weights are')} updated and assigned in one run, in no order "
                f"({listed(list(mixed), MOST_NAMED)}): {pair[0]} and {pair[1]} for {variable}",
                "assign after the update, under tf.control_dependencies, or in a run of its own",
            )


def unordered_momenta(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds weights that follow a variable while the same run assigns gradients to it, in no order; one for all."""
    graph, of_gradients, state = found.cut.graph, found.context.of_gradients, found.context.state
    for phase in found.plan.phases:
        weights = {effect.node for effect in phase.effects if effect.writes[0] in whole.trainable}
        reads: dict[str, tuple[str, str]] = {}
        for race in phase.races:
            reader, update = race.reader, race.second if race.reader == race.first else race.first
            if reader is None:
                continue
            is_kept = race.variable not in whole.trainable and not whole.is_scalar(race.variable)
            if is_kept and update in of_gradients and state.writes.get(update):
                behind = graph.descendants([reader], controls=False)
                if behind & weights and update not in behind:
                    reads.setdefault(race.variable, (reader, update))
        for variable, (reader, update) in reads.items():
            yield Hazard(
                "MOMENTUM_RACE",
                reader,
                f"weights follow {counted(len(reads), 'variable')} ({listed(list(reads), MOST_NAMED)}) that the same "
                f"run changes by gradients, in no order: {reader} may read {variable} before or after {update}",
                "take what the assignment returns, or read under tf.control_dependencies; the lift fixes one order",
            )
            break


def mixed_combining(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds variables whose gradients are summed over towers beside others' that are averaged."""
    count = found.plan.towers
    for phase in found.plan.phases if count > 1 else []:
        rows = {entry.weight for entry in phase.combine if is_indices_label(entry.weight)}
        sparse = set(map(weight_of_label, rows))
        values = _of_weights(found, [entry for entry in phase.combine if entry.weight not in rows])
        scales = {entry.weight: _scale_of_sum(found, phase, entry) for entry in values}
        summed = [entry for entry in values if _is_summed(entry, scales[entry.weight], found.plan.batch)]
        averaged = [entry for entry in values if abs(scales[entry.weight] * count - 1) < TOLERANCE]
        if not summed or not averaged:
            continue
        names = ", ".join(entry.weight for entry in summed[:3])
        others = counted(len(averaged), "other")
        factors = "".join(_factor_texts([scales[entry.weight] for entry in summed]))
        kind = "sparse" if all(entry.weight in sparse or entry.kind == "concat" for entry in summed) else ""
        yield Hazard(
            "SPARSE_GRADIENTS_SUMMED" if kind else "MIXED_COMBINING",
            parse_tensor_name(summed[0].tensor).node,
            f"{kind} gradients of {counted(len(summed), 'variable')} ({names}) are summed over {count} towers"
            f"{factors}, those of {others} are averaged".strip(),
            f"divide by {count} what the replicas gather, for a mean of all; for parity keep the sum",
        )


def _of_weights(found: Analysis, entries: Sequence[Combine]) -> list[Combine]:
    """The combinations of weights' gradients, or of a moment's, which takes the same rows, where a weight has none."""
    owners = {
        variable.name: variable.of for variable in found.plan.variables if variable.role == "slot" and variable.of
    }
    own = {entry.weight: entry for entry in entries if entry.weight not in owners}
    for entry in entries:
        owner = owners.get(entry.weight, entry.weight)
        own.setdefault(owner, dataclasses.replace(entry, weight=owner))
    return list(own.values())


def _factor_texts(scales: Sequence[float]) -> Iterator[str]:
    """Yields a clause for each factor on sums that is not 1.

    >>> list(_factor_texts([2.0, 2.0])), list(_factor_texts([1.0, 2.0, 1.0]))
    ([', times 2'], [', 1 of them times 2'])
    """
    for factor in sorted(set(scales)):
        count = scales.count(factor)
        if abs(factor - 1) >= TOLERANCE:
            yield f", times {factor:g}" if count == len(scales) else f", {count} of them times {factor:g}"


def _is_summed(entry: Combine, scale: float, batch: int | None) -> bool:
    """Whether an update takes the sum of the towers' gradients, or of rows the sum times a tower's number of examples.

    Another multiple may as well be one of the mean.
    """
    is_multiple = entry.kind == "concat" and batch is not None and abs(scale - batch) < TOLERANCE
    return abs(scale - 1) < TOLERANCE or is_multiple


def _scale_of_sum(found: Analysis, phase: Phase, entry: Combine) -> float:
    """The factor on the sum of the towers' gradients that an update takes; 0 where it is not known.

    A scatter update takes gradients that were multiplied by the learning rate before; other updates that were written
    by hand, by constants of their own.
    """
    if entry.kind == "kept as written":
        return 0.0
    if multiplier_of_mean(found.cut.graph, found.context.imported, entry, found.plan.towers) is not None:
        return 1.0 / found.plan.towers  # a mean, which a constant of the layer's multiplies
    scale = 1.0 / found.plan.towers if entry.kind == "mean" else entry.scale
    effect = next((effect for effect in phase.effects if entry.weight in effect.writes[:1]), None)
    if effect is not None and entry.kind == "concat":
        graph, imported = found.cut.graph, found.context.imported
        gradient = effect.gradient or gradient_of_moments(graph, imported, phase, effect)
        scale *= factor_behind_rows(graph, imported, entry, gradient) if gradient else 1.0
    if effect is None or op_types.is_apply(effect.op) or entry.tensor not in effect.values:
        return scale
    if "Scatter" not in effect.op:
        return 0.0
    named = updates_by_hand.learning_rate(found.context, effect)  # other optimizers of the step may have other ones
    rate = imported_constant(found, named) if named else None
    return scale if rate is None else scale / rate


def imported_constant(found: Analysis, tensor: str) -> float | None:
    """The number that a tensor always is; None for any other tensor."""
    value = found.context.imported.constant(*parse_tensor_name(tensor))
    return float(value) if value is not None and np.ndim(value) == 0 else None
