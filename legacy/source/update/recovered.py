"""A step whose losses are functions, and whose update is written as the old graph computes it."""

from __future__ import annotations

import collections
import dataclasses
import re
from typing import TYPE_CHECKING, Dict, List, Sequence, Set, Tuple

from legacy.saved.analysis.other_numbers.changes_in_turn import changed_by_each
from legacy.saved.graph.imported import imported_graph
from legacy.source.basics.divided_losses import divided_by_replicas, has_divisor
from legacy.source.basics.expressions import Name
from legacy.source.basics.rendering import literal_text
from legacy.source.basics.unwritten import Unwritten
from legacy.source.basics.values_of_all import uses_values_of_all
from legacy.source.definitions.update_noise import noise_of_update
from legacy.source.lines.naming import free_name
from legacy.source.lookups.rows_set_before import rows_set_before
from legacy.source.step.imported_step import WrittenLoss
from legacy.source.step.input_names import input_names
from legacy.source.step.known_statistics import between_turns, find_known
from legacy.source.step.learning import find_counter, find_counters
from legacy.source.step.model import all_statements, recover_model, require_fed
from legacy.source.step.towers import Towers
from legacy.source.update.changes.groups import text_of_group
from legacy.source.update.changes.lines import update_lines
from legacy.source.update.gradient_path import GradientPath
from legacy.source.update.loss_of_all import loss_of_all_lines
from legacy.source.update.losses_of_others import find_minimized, with_rows
from legacy.source.update.names import TrainOpName, names_of_folders, names_of_train_ops
from legacy.source.update.paths import find_path, further_name
from legacy.source.update.shared import SharedFactor, find_shared_factor, with_reduced, with_results
from legacy.source.update.tower_changes import tower_lines
from legacy.source.update.written import WrittenStep, WrittenUpdate, loss_name
from workloads.lifted.plan import TensorType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from legacy.source.basics.expressions import Expression
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Effect, Phase, Plan


def recover_updates(plan: Plan, graph: Graph, initializers: Mapping[str, str], reasons: Sequence[str]) -> WrittenStep:
    """Recovers a step with its update.

    Args:
      plan: of the lift.
      graph: of the lift.
      initializers: {variable: text of its initializer}.
      reasons: why no optimizer with named fields describes it.

    Returns:
      The step.

    Raises:
      Unwritten: a part of it cannot be written.
    """
    paths = [find_path(plan, graph, phase) for phase in plan.phases]
    alone = len(plan.phases) == 1
    groups: Dict[str, List[str]] = {}
    names = names_of_train_ops(plan.phases, paths)
    of_weights = [_named_groups(name, path, groups) for name, path in zip(names, paths)]
    for name, path in zip(names, paths):
        _name_further_groups(name, path, groups)
    trained = {weight for path in paths for weight in path.weights}
    averaged = [v.of for v in plan.variables if v.role == "average" and v.of not in trained]
    if len(averaged) > 1:
        groups[free_name("STATISTICS", groups)] = averaged
    updates: List[WrittenUpdate] = []
    for phase, path, name, own in zip(plan.phases, paths, names, of_weights):
        known = [one for one in updates if one.phase.train_op == phase.train_op and one.phase.effects == phase.effects]
        if known:  # the old program runs it several times
            updates.append(known[0])
            continue
        try:
            update = _update(plan, graph, phase, path, name, own, groups, initializers, updates)
            updates.append(
                update._replace(further_groups=[text_of_group(list(f.combined), groups) for f in path.further])
            )
        except Unwritten as reason:
            raise reason if alone else Unwritten(f"{phase.train_op}: {reason}") from reason
    counter = find_counter(plan, imported_graph(graph))
    return WrittenStep(updates, groups, list(reasons), counter, changed_by_each(plan, graph), plan.own_number)


def _named_groups(name: TrainOpName, path: GradientPath, groups: Dict[str, List[str]]) -> List[str]:
    """Returns the names of lists of a train op's weights, one for each set of losses, which it adds to `groups`."""
    names: List[str] = []
    sets = path.weights_of_losses()
    folders = names_of_folders(list(sets.values()))
    for number, (numbers, weights) in enumerate(sets.items()):
        wanted = name.weights
        if len(sets) > 1 and folders:
            wanted = folders[number].upper() + "_WEIGHTS"
        elif len(sets) > 1:
            wanted += "_OF_" + "_AND_".join(map(loss_name, numbers)).upper()
        known = [name for name, others in groups.items() if others == weights]
        names.append(known[0] if known else free_name(wanted, groups))
        groups[names[-1]] = weights
    return names


def _name_further_groups(name: TrainOpName, path: GradientPath, groups: Dict[str, List[str]]) -> None:
    """Adds lists of the weights of further gradients to `groups`, where the text has no name for them."""
    for one in path.further:
        weights = list(one.combined)
        if not text_of_group(weights, groups):
            folder = "".join(names_of_folders([weights]))
            groups[free_name(f"{folder.upper()}_WEIGHTS" if folder else name.weights, groups)] = weights


def _update(
    plan: Plan,
    graph: Graph,
    phase: Phase,
    path: GradientPath,
    name: TrainOpName,
    own_groups: List[str],
    groups: Mapping[str, Sequence[str]],
    initializers: Mapping[str, str],
    before: Sequence[WrittenUpdate],
) -> WrittenUpdate:
    if phase.exchanges:
        raise Unwritten(
            "towers: they exchange results several times in a step, as a normalization over all towers does"
        )
    function = free_name(name.function, [one.function for one in before])
    if not phase.losses and not any(phase.gradients) and len(plan.phases) > 1:
        settings = input_names(plan).settings
        lines = update_lines(plan, graph, phase, phase.effects, _given_settings(plan, settings), groups, {}, {})
        require_fed(plan, graph, settings, _words(lines))
        return WrittenUpdate(function, phase, None, path, own_groups, lines, SharedFactor([], {}, []))
    counters = find_counters(phase, imported_graph(graph)) if len(plan.phases) == 1 else []
    known = find_known(plan, graph, phase, counters)
    proposed = {proposal.node: proposal.variable for own in known.proposals for proposal in own}
    rows = rows_set_before(graph, phase)
    known_changes = {*proposed, *(effect.node for own in rows.values() for effect in own)}
    effects = [effect for effect in phase.effects if effect.node not in known_changes]
    of_loss = free_name(name.loss, [update.loss.function for update in before if update.loss])
    typed = _with_types(plan, path)
    try:
        phase, factor = _with_factor(typed, graph, phase, effects, path, of_loss + "_of_all")
    except Unwritten as reason:
        if not any(phase.returns):
            raise
        towers = Towers(plan, graph, phase, known, initializers, counters, input_names(plan))
        phase, factor = _with_others(typed, graph, phase, effects, path, towers, of_loss + "_with_others", reason)
    path = path._replace(scales=[]) if factor.of_all or factor.with_others else path
    if path.is_changed:
        path = path._replace(own_lines=tower_lines(plan, graph, phase, 0, path.weights, groups))
    model = recover_model(plan, graph, phase, known, initializers, counters, apart=True)
    if factor.with_others and uses_values_of_all([one.expression for one in all_statements(model)]):
        raise Unwritten("towers: a loss with other towers' results uses all of a batch, and not only its tower's part")
    is_fixed = path.combine == "sum" and has_divisor(phase, plan.towers)
    if is_fixed:
        *first, last = model.statements
        divided = divided_by_replicas(last.expression, plan, phase)
        model = model._replace(statements=[*first, last._replace(expression=divided)])
        is_fixed = divided == last.expression
    loss = WrittenLoss(of_loss, phase, model, factor.of_all, factor.with_others, path.further, 1 + factor.further)
    given: Dict[str, Expression] = {**factor.tensors, **path.tensors, **_given_settings(plan, model.settings)}
    made = collections.Counter(proposed.values())
    noise = noise_of_update(typed, graph, effects, given, {w: s for one in before for w, s in one.streams.items()})
    typed = dataclasses.replace(typed, tensors={**typed.tensors, **noise.types})
    given.update(noise.given)
    lines = noise.lines + update_lines(typed, graph, phase, effects, given, groups, made, between_turns(known))
    require_fed(plan, graph, model.settings, _words(lines))
    sets = [line for own in rows.values() for line in update_lines(plan, graph, phase, own[:1], {}, groups, {}, {})]
    sets += [f"    values[{literal_text(name)}] = variables[{literal_text(name)}].read_value()" for name in rows]
    factor = factor.gathering(lines)
    if phase.other_losses and factor.lines:
        raise Unwritten("loss: several are minimized, and follow from all towers' results")
    return WrittenUpdate(function, phase, loss, path, own_groups, lines, factor, (), noise.streams, is_fixed, sets)


def _given_settings(plan: Plan, settings: Mapping[str, str]) -> Dict[str, Expression]:
    """Returns {tensor: its constant} of the scalars that were fed, from {constant of the text: scalar}."""
    entries = {entry.name: entry for entry in plan.inputs + plan.common}
    return {tensor: Name(name) for name, source in settings.items() for tensor in entries[source].tensors}


def _words(lines: Sequence[str]) -> Set[str]:
    """The words of some lines of text."""
    return {word for line in lines for word in re.findall(r"\w+", line)}


def _with_factor(
    plan: Plan, graph: Graph, phase: Phase, effects: Sequence[Effect], path: GradientPath, function: str
) -> Tuple[Phase, SharedFactor]:
    """Returns a train op with the results of all towers that its losses and effects need, and the factor on its losses.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.
      effects: the changes that the update makes.
      path: of the gradients.
      function: name of the function of all towers' losses, where the factor is its derivative.

    Returns:
      Both.
    """
    of_examples = phase.shared_loss and plan.tensors[phase.losses[0]].shape  # no number is the weight of a vector
    if not any(phase.returns) and not of_examples:
        return with_reduced(plan, graph, phase, effects, path.tensors)
    with_all = with_results(plan, graph, phase, effects, path.tensors)
    try:
        if not of_examples:
            return with_all, find_shared_factor(plan, graph, with_all)
    except Unwritten:
        pass
    of_all = loss_of_all_lines(plan, graph, phase, function)
    phase = with_results(plan, graph, dataclasses.replace(phase, early=of_all.rows), effects, path.tensors)
    alone = find_shared_factor(plan, graph, dataclasses.replace(phase, returns=[]))
    results = ", ".join(["losses", *(f"{part}s" for part in alone.parts[: len(of_all.rows)])])
    lines = ["losses = gather(context, loss)", f"factor = tf.gradients({function}({results}), losses)[scope.replica]"]
    if of_all.results:
        own = ", ".join(f"{name}[scope.replica]" for name in results.split(", ")[: 1 + of_all.results])
        lines[1:] = [f"results = [{own}]", f"factors = tf.gradients({function}({results}), results)"]
    return phase, alone._replace(lines=lines, of_all=of_all.lines, further=of_all.results)


def _with_others(
    plan: Plan,
    graph: Graph,
    phase: Phase,
    effects: Sequence[Effect],
    path: GradientPath,
    towers: Towers,
    function: str,
    reason: Unwritten,
) -> Tuple[Phase, SharedFactor]:
    """Returns a train op whose towers' losses contain other towers' results; see `_with_factor`.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.
      effects: the changes that the update makes.
      path: of the gradients.
      towers: of the train op.
      function: name of the function of what is minimized.
      reason: why no function of the towers' losses is.

    Returns:
      Both.
    """
    alone = with_results(plan, graph, dataclasses.replace(phase, early=[], returns=[]), effects, path.tensors)
    factor = find_shared_factor(plan, graph, alone)
    try:
        found = find_minimized(plan, graph, phase, towers, function, 1 + len(alone.early))
    except Unwritten as other:
        raise Unwritten(f"{reason}\n{other}") from other
    return with_rows(alone, found.rows), factor._replace(with_others=found.lines)


def _with_types(plan: Plan, path: GradientPath) -> Plan:
    """Returns the plan with the types of the gradients that an update begins with."""
    names = ["gradients", *map(further_name, range(len(path.further)))]
    variables = {
        f"{name}[{literal_text(v.name)}]": TensorType(v.dtype, list(v.shape)) for name in names for v in plan.variables
    }
    types = {tensor: variables[one.text] for tensor, one in path.tensors.items() if one.text in variables}
    return dataclasses.replace(plan, tensors={**plan.tensors, **types})
