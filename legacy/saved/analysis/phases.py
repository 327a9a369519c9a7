"""Analysis of one train op (a *phase* of the plan): its order, towers, losses and gradients."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping, Sequence

from legacy.saved.analysis import gradients, losses
from legacy.saved.analysis.context import Context
from legacy.saved.analysis.correspondence import match_towers
from legacy.saved.analysis.division import parts, tensor_matching
from legacy.saved.analysis.division.crossings import Crossings, tensors_leaving
from legacy.saved.analysis.division.exchanges import TowerExchange
from legacy.saved.analysis.division.joined_results import Join
from legacy.saved.analysis.division.labelled_step import LabelledStep
from legacy.saved.analysis.division.returns import depend_on_sizes_alone
from legacy.saved.analysis.effects import describe_effects
from legacy.saved.analysis.loss_scale import loss_scale
from legacy.saved.analysis.order.ordering import order_step
from legacy.saved.analysis.order.race_choices import other_choices
from legacy.saved.analysis.order.step_flow import StepFlow
from legacy.saved.analysis.phase_parts import PhaseParts
from legacy.saved.analysis.reduction.all_examples import AllExamples
from legacy.saved.analysis.reduction.growth import Growth
from legacy.saved.analysis.reduction.means_of_one import averaged_over_replicas, is_mean_of_several
from legacy.saved.analysis.reduction.multipliers import with_multiples_of_means
from legacy.saved.analysis.reduction.row_rates import before_rates
from legacy.saved.analysis.results import combine_results
from legacy.saved.graph.differentiation import differentiated
from workloads.lifted.graph import Graph, TensorId, tensor_name
from workloads.lifted.pieces.cutter import Cutter
from workloads.lifted.plan import Combine, ControlDependency, Phase, ReadVersion, ResultExchange, TensorType, Variable
from workloads.lifted.tensors import gradient_names
from workloads.support.errors import InputError
from workloads.support.wording import SEVERAL, listed


def analyse_phase(context: Context, target: str, others: Sequence[str] = ()) -> PhaseParts:
    """Analyses a train op.

    Args:
      context: the graph's.
      target: the train op.
      others: train ops that run in other steps.

    Returns:
      Its parts.
    """
    graph, imported, state = context.graph, context.imported, context.state
    members = graph.ancestors([target])
    found = losses.find_losses(graph, context.towers, members)
    members |= graph.ancestors({name for name, _ in found.main})  # a recording reads the losses, so before any update
    # What only a loss reads is of the step's computation, too, as what depends on data is.
    computed = context.data | graph.ancestors(found.nodes() & members, controls=False)
    flow = StepFlow(graph, state, members)
    elsewhere = [graph.ancestors([other]) for other in others]
    order = order_step(graph, state, members, computed, flow=flow, others=elsewhere)
    step = LabelledStep(graph, imported, state, context.towers, members, order, found.main)
    divided = parts.divide_step(step)
    effects = describe_effects(graph, imported, state, order.effects)
    return PhaseParts(
        target, members, order, found.main, divided, effects, found.others, found.weights, computed, flow, elsewhere
    )


def analyse_phases(context: Context, targets: Sequence[str]) -> list[PhaseParts]:
    """Analyses the train ops of a step, each beside the others."""
    return [analyse_phase(context, target, [other for other in targets if other != target]) for target in targets]


def phase_plan(
    context: Context,
    phase: PhaseParts,
    aliases: dict[str, str],
    variables: list[Variable],
    batch: int | None = None,
) -> Phase:
    """Returns the plan of an analysed train op.

    Args:
      context: the graph's; signatures of the plan's tensors are recorded in it.
      phase: the train op.
      aliases: {name of a tensor that is a variable or its handle: the variable}.
      variables: variables of the whole plan.
      batch: number of a tower's examples; None if it is open.

    Returns:
      The `plan.Phase`.
    """
    graph, divided, order = context.graph, phase.divided, phase.order
    shapes = {variable.name: TensorType(variable.dtype, variable.shape) for variable in variables}
    cutter = Cutter(graph, aliases, shapes, context.record_signature, {})
    combine, towers_gradients = gradients.probe_gradients(context, phase, cutter)
    combine = _at_other_numbers(context, phase, combine, batch)
    for entry in combine:
        context.record_signature(entry.tensor)
    shared = any(context.towers.is_shared(target) for target in differentiated(graph, phase.members))
    scale = _loss_scale(context, phase, cutter, combine)
    results = combine_results(context, phase, cutter, combine, batch)
    for entry in results.combined:
        context.record_signature(entry.tensor)
    trained = _used_in_training(context, phase, variables)
    return Phase(
        train_op=phase.target,
        losses=context.names(phase.losses),
        loss_scale=scale,
        shared_loss=shared,
        gradients=towers_gradients,
        raw=gradients.raw_gradients(context, towers_gradients),
        combine=combine,
        crossings=_crossing_rows(context, divided.crossings),
        twins=_twins(context, phase),
        state_crossings=_state_crossings(context, phase, variables),
        returns=[context.names(tower) for tower in divided.returns] if any(divided.returns) else [],
        early=_crossing_rows(context, divided.early_crossings),
        kept=[context.names(tower) for tower in divided.saved_tensors],
        exchanges=_exchanges(context, divided.exchanges),
        effects=phase.effects,
        versions=[ReadVersion(node, variable, n) for (node, variable), n in sorted(order.versions.items()) if n],
        control_dependencies=order.dependencies,
        other_control_dependencies=_other_orders(context, phase),
        races=order.races,
        members=len(phase.members),
        other_losses=[[tensor.name for tensor in row] for row in phase.other_losses],
        other_scales=[scale * weight / phase.loss_weights[0] for weight in phase.loss_weights[1:]],
        results=results.combined,
        joined=context.names([TensorId(join.first, 0) for join in results.others if trained & _changed(join)]),
        joined_beside=sorted(set().union(*map(_changed, results.others)) - trained),
        sizes_alone=depend_on_sizes_alone(graph, set().union(*divided.returns), divided.early_crossings),
    )


def _changed(join: Join) -> set[str]:
    """Returns the variables that some updates change."""
    return {name for effect in join.updates for name in effect.writes}


def _used_in_training(context: Context, phase: PhaseParts, variables: Sequence[Variable]) -> set[str]:
    """Returns the weights, their slots, and other variables that the towers' losses depend on."""
    before = context.graph.ancestors([loss.node for loss in phase.losses], controls=False)
    used = {name for node in before for name in context.state.reads.get(node, ())}
    return used | {variable.name for variable in variables if variable.role in ("weight", "slot")}


def _at_other_numbers(context: Context, phase: PhaseParts, combine: list[Combine], batch: int | None) -> list[Combine]:
    """Returns how gradients are combined, with what losses and examples tell of other numbers of replicas.

    Args:
      context: the graph's.
      phase: the train op.
      combine: as the graph's own towers have it.
      batch: number of a tower's examples; None if it is open.
    """
    growth = Growth(context.graph, context.imported, context.data, batch)
    minimized = [loss for row in (phase.losses, *phase.other_losses) for loss in row]
    if context.towers.count > 1:
        combine = before_rates(context.graph, context.imported, combine, phase.effects)
        count = context.towers.count * (batch or 0)
        own = AllExamples(context.graph, context.imported, context.data, growth, count)
        combine = own.with_divided(combine, minimized) if batch else combine
        return with_multiples_of_means(context.graph, context.imported, combine, context.towers.count)
    is_doubted = bool(context.towers.doubt and combine)
    own_mean = is_doubted and all(is_mean_of_several(context.graph, context.of_gradients, one) for one in combine)
    if own_mean or minimized and all(growth.power(loss) == 0 for loss in minimized):
        return [averaged_over_replicas(one) for one in combine]
    return combine


def _loss_scale(context: Context, phase: PhaseParts, cutter: Cutter, combine: list[Combine]) -> float:
    """The weight of each tower's loss in what is differentiated."""
    scales = {entry.scale for entry in combine if entry.kind == "sum"}
    given = (context.graph, context.imported, context.towers, cutter, phase.members)
    return loss_scale(*given, phase.losses, scales, phase.other_losses)


def leak_notes(context: Context, analysed: list[PhaseParts]) -> Iterator[str]:
    """Yields a sentence for each tower that takes tensors of another one in its forward pass.

    The forward pass is what losses and gradient ops are made of: an op that has a tower's device or name but lies
    behind its gradients combines the towers' results, and must take them all.
    """
    graph, members = context.graph, set().union(*[phase.members for phase in analysed])
    minimized = graph.ancestors(differentiated(graph, members), controls=False)
    backward = [name for name in members if gradient_names.is_gradient_op(name)]
    forward = minimized | graph.ancestors(backward, controls=False)
    seen: set[tuple[int, int]] = set()
    for leak in context.towers.leaks(graph):
        if leak.user in forward and (leak.tower, leak.other) not in seen:
            seen.add((leak.tower, leak.other))
            taken = f"{leak.user} takes {leak.tensor.name}"
            if leak.user in minimized:
                yield f"tower {leak.tower}'s loss contains what tower {leak.other} computes: {taken}"
            else:
                yield f"tower {leak.tower} uses what tower {leak.other} computes: {taken}"


def phase_notes(context: Context, phase: PhaseParts) -> Iterator[str]:
    """Yields a sentence for each thing about a train op's losses that is unusual."""
    if phase.losses:
        name, shape = phase.losses[0].name, context.imported.shape(*phase.losses[0])
        if shape and set(shape) != {1} and phase.losses[0].node in differentiated(context.graph, phase.members):
            yield f"{phase.target}: the loss {name} has the shape {list(shape)}; what is minimized is its sum"
    if phase.other_losses:
        others = listed([row[0].name for row in phase.other_losses], SEVERAL)
        yield f"{phase.target}: further losses are differentiated besides {phase.losses[0].name}: {others}"


def _crossing_rows(context: Context, crossings: Crossings) -> list[list[str | None]]:
    """One row for each set of matching crossings: for each tower, its tensor's name or None."""
    for row in crossings.values():
        context.names(row.values())
    towers = range(context.towers.count)
    return [[tensor_name(*row[t]) if t in row else None for t in towers] for row in crossings.values()]


def _exchanges(context: Context, exchanges: Sequence[TowerExchange]) -> list[ResultExchange]:
    """The names of several exchanges' tensors; none for a single one."""
    return [
        ResultExchange(
            _crossing_rows(context, exchange.early),
            [context.names(tower) for tower in exchange.returns],
            [context.names(tower) for tower in exchange.saved],
        )
        for exchange in (exchanges if len(exchanges) > 1 else ())
    ]


def _other_orders(context: Context, phase: PhaseParts) -> list[list[ControlDependency]]:
    """Control dependencies of the other orders that the graph allows; empty if it has no races."""
    if not phase.order.races:
        return []
    early = [race.reader for race in phase.order.races if race.reader is not None and race.read_is == "before"]
    others: list[list[ControlDependency]] = []
    for choices in other_choices([reader for reader in early if reader not in phase.computed]):
        try:
            order = order_step(
                context.graph, context.state, phase.members, phase.computed, choices, phase.flow, phase.elsewhere
            )
        except InputError:  # the graph does not allow these choices together
            continue
        if order.dependencies not in (phase.order.dependencies, *others):
            others.append(order.dependencies)
    return others


def _state_crossings(context: Context, phase: PhaseParts, variables: list[Variable]) -> dict[str, str]:
    """{crossing's name: update op} of the crossings that are used by one update op, of one tower's own state."""
    state = {variable.name for variable in variables if variable.role == "state"}
    used = collections.defaultdict(set)
    for effect in phase.effects:
        for tensor in tensors_leaving(context.graph, context.state, effect.node, phase.divided.tower_nodes):
            used[tensor_name(*tensor)].add(effect.node)
    setters = {effect.node for effect in phase.effects if set(effect.writes) <= state}
    return {name: next(iter(nodes)) for name, nodes in used.items() if len(nodes) == 1 and nodes <= setters}


def _twins(context: Context, phase: PhaseParts) -> dict[str, str]:
    """{a later tower's crossing: the first tower's tensor} of crossings alone in their row that are computed alike.

    Where each tower updates a moving mean by itself, its batch mean is the only crossing on the way to that update op;
    the towers' batch means are found to match by their data flow. Where the last tower alone updates it, the first
    one's batch mean leaves its tower nowhere: it is what the losses are made of at the same place.
    """
    divided = phase.divided
    lone = [next(iter(row.items())) for row in divided.crossings.values() if len(row) == 1]
    first = [tensor for tower, tensor in lone if tower == 0]
    twins: dict[str, str] = {}
    equal = [tensor_matching.EqualTensors(context.graph, set(divided.cuts[0]) | set(cuts)) for cuts in divided.cuts]
    free = [dict.fromkeys(first) for _ in divided.cuts]
    matched: dict[int, dict[TensorId, TensorId]] = {}
    for tower, tensor in [entry for entry in lone if entry[0]]:
        twin = next((candidate for candidate in free[tower] if equal[tower].are_equal(candidate, tensor)), None)
        if twin is not None:
            del free[tower][twin]
        else:
            if tower not in matched:
                matched[tower] = match_towers(context, [phase], (0, tower), divided.cuts).firsts
            twin = _first_of(context.graph, matched[tower], tensor)
            twin = twin if twin and divided.tower_nodes.get(twin.node) == 0 else None
        if twin is not None:
            twins[tensor_name(*tensor)] = tensor_name(*twin)
            context.names([twin])
    return twins


def _first_of(graph: Graph, firsts: Mapping[TensorId, TensorId], tensor: TensorId) -> TensorId | None:
    """The first tower's tensor that a later one's corresponds to: nodes of one type that match do so in all outputs.

    The losses are made of a fused normalization's first output alone; its moments leave the tower that updates
    statistics.
    """
    if tensor in firsts:
        return firsts[tensor]
    matching = ((o, f) for o, f in firsts.items() if o.node == tensor.node and o.output == f.output)
    like = [f.node for o, f in matching if graph.type(o.node) == graph.type(f.node)]
    return TensorId(like[0], tensor.output) if like else None
