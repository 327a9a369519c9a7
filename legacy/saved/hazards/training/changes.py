"""Hazards of the updates: a step that trains nothing, changes in no order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.copies import masters_of_copies
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import linear_weights
from legacy.saved.runs.accumulation import accumulating_writes
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import Phase
from workloads.support.wording import FEW, counted, listed


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


def _sets_copies(whole: WholeGraph, found: Analysis, phase: Phase) -> bool:
    """Whether a turn sets variables to other variables' values, and changes no others, as where a worker reads them."""
    run = _run_by(whole, found, phase)
    masters, written = masters_of_copies(whole), {whole.writes[name] for name in run if name in whole.writes}
    return bool(written) and written <= set(masters)


def _run_by(whole: WholeGraph, found: Analysis, phase: Phase) -> set[str]:
    """Returns the nodes that a turn runs; a run of several ops is one op of the analysed graph, and of no saved one."""
    graph = found.whole if phase.train_op in found.whole.nodes else whole.graph
    return graph.ancestors([phase.train_op]) if phase.train_op in graph.nodes else set()


def _bounds_weights(whole: WholeGraph, found: Analysis, phase: Phase) -> bool:
    """Whether a turn changes weights, each by its own value alone, as one that clips them does."""
    graph, run = whole.graph, _run_by(whole, found, phase)
    written = {name: variable for name, variable in whole.writes.items() if name in run}
    return bool(written) and all(
        variable in whole.trainable and variable in graph.ancestors([graph.inputs(name)[-1].node], controls=False)
        for name, variable in written.items()
    )


def _follows_weights(found: Analysis, phase: Phase) -> bool:
    """Whether a turn moves each variable by weights that others train, as elastic averaging does on a server."""
    graph, rules = found.cut.graph, found.context.state.rules
    trained: set[str] = set()
    for other in found.plan.phases:
        if any(other.gradients):
            trained.update(effect.writes[0] for effect in other.effects if effect.node in rules)
    moved = [(effect.writes[0], effect.gradient) for effect in phase.effects if effect.node in rules]
    return bool(moved) and all(
        value is not None and graph.ancestors([parse_tensor_name(value).node], controls=False) & (trained - {name})
        for name, value in moved
    )


def _reason_for_nothing(whole: WholeGraph, found: Analysis, phase: Phase) -> str | None:
    graph, imported = found.cut.graph, found.context.imported
    rates = [effect.learning_rate for effect in phase.effects if effect.learning_rate]
    constants = [imported.constant(*parse_tensor_name(rate)) for rate in rates]
    if rates and all(value is not None and not np.any(value) for value in constants):
        return "the learning rate is 0"
    if len(found.plan.phases) > 1 and (_bounds_weights(whole, found, phase) or _sets_copies(whole, found, phase)):
        return None
    if not phase.combine and not any(phase.gradients):
        rules = {name for name in found.context.state.rules if name in graph.nodes}
        is_meant = accumulating_writes(graph, rules) or _follows_weights(found, phase)
        return None if is_meant else "no gradient reaches an update"
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
                f"({listed(list(mixed), FEW)}): {pair[0]} and {pair[1]} for {variable}",
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
                f"weights follow {counted(len(reads), 'variable')} ({listed(list(reads), FEW)}) that the same "
                f"run changes by gradients, in no order: {reader} may read {variable} before or after {update}",
                "take what the assignment returns, or read under tf.control_dependencies; the lift fixes one order",
            )
            break
