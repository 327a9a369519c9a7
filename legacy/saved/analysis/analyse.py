"""Analyses a saved graph: calls the steps of the analysis in order, from the graph to the plan of its lift."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from legacy.saved.analysis import correspondence, phases, roles
from legacy.saved.analysis.assigned_values import find_assigned_reads, notes_on_reads, with_assigned_values
from legacy.saved.analysis.context import Context
from legacy.saved.analysis.division.before_inputs import require_untrained_before_inputs
from legacy.saved.analysis.division.early_lookups import early_lookups, note_on_lookups
from legacy.saved.analysis.division.own_lookups import with_own_lookups
from legacy.saved.analysis.division.own_sizes import with_own_sizes
from legacy.saved.analysis.division.part_sizes import with_part_sizes
from legacy.saved.analysis.division.returns import returns_in_loops
from legacy.saved.analysis.division.row_slices import with_row_slices
from legacy.saved.analysis.division.rows_by_tower import NOTE_ON_ROWS, with_rows_by_tower
from legacy.saved.analysis.initial_values import NO_VALUES, StartValues
from legacy.saved.analysis.input_places.equal_inputs import with_equal_inputs_once
from legacy.saved.analysis.input_places.joined_numbers import with_numbers_of_joined_parts
from legacy.saved.analysis.input_places.parts_in_branches import (
    require_inputs_before_branches,
    with_parts_before_branches,
)
from legacy.saved.analysis.input_places.unfed_checks import note_on_checks, unfed_checks, without_checks
from legacy.saved.analysis.other_numbers.equal_copies import without_equal_copies
from legacy.saved.analysis.other_towers import describe_other_towers
from legacy.saved.analysis.phase_parts import PhaseParts
from legacy.saved.analysis.reduction.summed_rows import with_rows_added_once
from legacy.saved.graph import op_types
from legacy.saved.graph.cut import cone
from legacy.saved.graph.differentiation import differentiated
from legacy.saved.graph.graph_file import SavedGraph
from legacy.saved.inputs import description
from legacy.saved.runs import accumulation, carried_state
from legacy.saved.runs.recorded_feeds import FedTensor, carried_text, fed_tensors, feeds_text, recorded_carry
from legacy.saved.runs.step_run import find_step_run
from legacy.saved.runs.unused_updates import counter_note, unused_notes
from workloads.lifted.graph import Graph, TensorId, parse_tensor_name, tensor_name
from workloads.lifted.plan import Effect, Plan, Variable
from workloads.support.errors import InputError


class Analysis(NamedTuple):
    """A saved graph, analysed.

    Attributes:
      plan: the plan of its lift.
      cut: the part of the graph that a training step runs.
      whole: the graph that it was cut from, with settings made constants.
      context: variables and towers of the cut graph.
      trained: names of the variables that the program trains; see `trained_variables`.
      fed: tensors that the recording beside the graph fed in place of their own values, and the lift does not carry.
      given: names of the settings whose values were given, and not assumed.
      start: what the variables of a lift start from; empty before these values are read.
      own_variables: (variable of the first tower, the one that another tower reads in its place).
    """

    plan: Plan
    cut: cone.Cone
    whole: Graph
    context: Context
    trained: list[str]
    fed: Sequence[FedTensor] = ()
    given: Collection[str] = ()
    start: StartValues = NO_VALUES
    own_variables: Sequence[tuple[str, str]] = ()


def analyse_graph(
    saved: SavedGraph,
    name: str,
    train_op: Sequence[str] = (),
    feed: Mapping[str, str] | None = None,
    carry: Mapping[str, str] | None = None,
    beside: Sequence[str] = (),
) -> Analysis:
    """Analyses a saved graph.

    Args:
      saved: the graph, as read from its file.
      name: what to call the program.
      train_op: names of the train ops, or empty to find the one.
      feed: {placeholder: text of its value} of settings that are the same in every step.
      carry: {fed tensor: tensor} of state that the program fetched and fed into the next step; None takes what the
        recording beside the graph shows, if such a graph can be analysed.
      beside: names of ops that each step ran beside the train op.

    Returns:
      The analysis.

    Raises:
      InputError: the graph trains nothing, or does something that a lift cannot do; the message says what.
    """
    fed = fed_tensors(saved)
    analysed = functools.partial(_analyse, saved, fed, name, train_op, feed or {}, beside)
    recorded = recorded_carry(fed) if carry is None else {}
    if recorded:
        with contextlib.suppress(InputError):
            found = analysed(recorded)
            begun = [tensor.name for tensor in fed if tensor.is_set_back or tensor.rows_set_back]
            found.plan.notes.append(carried_text(recorded, begun))
            return found
    return analysed(carry or {})


def _analyse(
    saved: SavedGraph,
    fed: Sequence[FedTensor],
    name: str,
    train_op: Sequence[str],
    feed: Mapping[str, str],
    beside: Sequence[str],
    carry: Mapping[str, str],
) -> Analysis:
    """Analyses a saved graph.

    Args:
      saved: the graph, as read from its file.
      fed: tensors that the recording beside the graph fed.
      name: what to call the program.
      train_op: names of the train ops, or empty to find the one.
      feed: {placeholder: text of its value} of settings.
      beside: names of ops that each step ran beside the train op.
      carry: {fed tensor: tensor} of state that the program fetched and fed into the next step.

    Returns:
      The analysis.
    """
    run = find_step_run(saved, train_op, feed, beside)
    whole, targets = carried_state.carry_state(run.whole, carry, run.targets, {one.name: one.shape for one in fed})
    carried = {parse_tensor_name(name).name for name in carry}
    divided = _divided(whole, targets, run.trainable)
    cut, context, analysed = divided.cut, divided.context, divided.phases
    matched = correspondence.find_correspondence(context, analysed)
    plan = _plan(context, cut, name, analysed, matched)
    plan.own_variables = without_equal_copies(whole, plan.own_variables, matched.own_variables)
    require_untrained_before_inputs(context.graph, plan)
    require_inputs_before_branches(context.graph, plan)
    plan.settings, plan.updated = run.settings, divided.updated
    read = set().union(*[phase.members for phase in analysed])
    plan.notes += [*divided.notes, *run.notes, *unused_notes(whole, run.unused, read)]
    plan.notes += [counter_note(name, variable) for name, variable in run.counters.items()]
    entries = {parse_tensor_name(name).name for entry in plan.inputs + plan.common for name in entry.tensors}
    fed = [tensor for tensor in fed if tensor.name not in carried]
    fed = [tensor for tensor in fed if tensor.is_placeholder or tensor.name not in entries]
    fed = [tensor for tensor in fed if not tensor.is_computed or parse_tensor_name(tensor.name).node in cut.graph.nodes]
    plan.notes += filter(None, [feeds_text(fed)])
    return Analysis(plan, cut, whole, context, run.trainable, fed, frozenset(feed), own_variables=matched.own_variables)


class _Divided(NamedTuple):
    """The part of a graph that its train ops run, divided into what the towers compute and the rest.

    Attributes:
      cut: the part.
      context: variables and towers of it.
      phases: the train ops.
      notes: sentences on what was rewritten so that it could be divided.
      updated: weights whose values after their update gradients take.
    """

    cut: cone.Cone
    context: Context
    phases: list[PhaseParts]
    notes: list[str]
    updated: list[str]


def _divided(whole: Graph, targets: Sequence[str], trainable: list[str]) -> _Divided:
    """Cuts and divides what some train ops run.

    Args:
      whole: the graph.
      targets: the train ops.
      trainable: names of the variables that they train.
    """
    ends = sorted({*targets, *differentiated(whole, whole.ancestors(targets))})
    cut = cone.extract_cone(whole, ends)
    cone.require_known(cut)
    lookups = list(early_lookups(cut.graph, trainable))
    if lookups:
        cut = cut._replace(graph=cone.leading_to(with_own_lookups(cut.graph, lookups), ends))
    sliced = with_parts_before_branches(with_row_slices(cut.graph, trainable), trainable)
    cut = cut._replace(graph=cone.leading_to(with_rows_added_once(sliced), ends))
    context = Context(cut.graph, trainable)
    assigned = find_assigned_reads(context, targets)
    used = [read for read in assigned if context.graph.type(read.node) not in op_types.SHAPE_OPS]
    if assigned:
        cut = cut._replace(graph=with_assigned_values(context, assigned, ends))
        context = Context(cut.graph, trainable)
    analysed = phases.analyse_phases(context, targets)
    entering = [tensor for phase in analysed for row in phase.divided.entering for tensor in row]
    checks = unfed_checks(context.graph, entering)
    made = []
    changes = (
        lambda graph, *_: without_checks(graph, checks),
        with_equal_inputs_once,
        with_numbers_of_joined_parts,
        with_rows_by_tower,
        with_own_sizes,
        with_part_sizes,
    )
    for changed in changes:
        changed_graph = changed(context.graph, context.imported, [phase.divided for phase in analysed])
        if changed_graph is not None:
            cut = cut._replace(graph=cone.leading_to(changed_graph, ends))
            context = Context(cut.graph, trainable)
            analysed = phases.analyse_phases(context, targets)
            made.append(changed)
    notes = [*filter(None, [note_on_lookups(lookups), *notes_on_reads(used), note_on_checks(checks)])]
    notes += [NOTE_ON_ROWS] if with_rows_by_tower in made else []
    return _Divided(cut, context, analysed, notes, sorted({read.variable for read in used if read.by_rule}))


def _plan(
    context: Context,
    cut: cone.Cone,
    name: str,
    analysed: list[PhaseParts],
    matched: correspondence.Correspondence,
) -> Plan:
    """The plan of some analysed train ops."""
    graph, imported, towers = context.graph, context.imported, context.towers
    batch = description.batch_size(graph, imported, matched.rows)
    shared = towers.count > 1 and not description.own_rows(imported, matched.rows)
    describer = description.InputDescriber(graph, imported, cut.origins, batch, shared)
    own = describer.describe(matched.rows)
    common_rows = [[tensor] for tensor in matched.common]
    common = describer.describe(common_rows, common=True)
    variables = _variables(context, [effect for phase in analysed for effect in phase.effects])
    used = {variable.name for variable in variables}
    aliases = {tensor_name(*tensor): name for tensor, name in context.state.aliases.items() if name in used}
    planned = [phases.phase_plan(context, phase, aliases, variables, batch) for phase in analysed]
    context.names(tensor for row in matched.rows + common_rows for tensor in row)
    context.names(TensorId(node, output) for node in context.random for output in range(imported.outputs(node)))
    plan = Plan(
        name=name,
        towers=towers.count,
        found_by=towers.found_by,
        batch=batch,
        inputs=own,
        common=common,
        noise=matched.noise,
        common_noise=matched.common_noise,
        variables=variables,
        sources={holder: origin for holder, (origin, _) in cut.origins.items() if holder in graph.nodes},
        aliases=aliases,
        tensors=dict(sorted(context.tensors.items())),
        phases=planned,
        differences=matched.differences,
        own_parts=matched.own_parts,
        own_variables=correspondence.not_kept_alike(context, matched.own_variables, variables, planned),
        unsafe=dict(cut.unsafe),
        divided_loops=returns_in_loops(context.graph, planned),
        notes=[*filter(None, [towers.doubt]), *phases.leak_notes(context, analysed), *_phase_notes(context, analysed)],
    )
    describe_other_towers(context, plan, matched.further)
    return plan


def _phase_notes(context: Context, analysed: list[PhaseParts]) -> list[str]:
    """Notes on each train op, each once: a train op may be run several times in a period."""
    return list(dict.fromkeys(note for phase in analysed for note in phases.phase_notes(context, phase)))


def _variables(context: Context, effects: list[Effect]) -> list[Variable]:
    """The variables that a step reads or changes, with their roles."""
    used = {variable for effect in effects for variable in effect.writes}
    used |= {variable for read in context.state.reads.values() for variable in read}
    sums = accumulation.sums_of_gradients(context.graph, context.accumulators)
    towers = context.towers
    return roles.classify_variables(
        context.graph, context.state, effects, towers.tower_of, used, sums, is_alone=towers.count == 1
    )
