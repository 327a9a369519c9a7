"""One train op: taken apart, then written down as a `plan.Phase`."""

from __future__ import annotations

import collections

from legacy.saved.analysis import gradients, losses, ordering, parts, roles, tensor_matching
from workloads.lifted.graph import tensor_name
from workloads.lifted.pieces import Cutter
from workloads.lifted.plan import Phase


class PhaseParts(collections.namedtuple("PhaseParts", "target members order losses divided effects")):
    """A train op taken apart: its node, the nodes it runs, their `Order`, losses, `Parts` and `Effect`s."""


def take_apart(context, target):
    """The `PhaseParts` of a train op."""
    graph, state = context.graph, context.state
    members = graph.ancestors([target])
    found = losses.find(graph, context.imported, context.towers, members)
    members |= graph.ancestors({name for name, _ in found})  # observed too, so before any update
    order = ordering.settle(graph, state, members, context.data)
    divided = parts.divide(graph, context.imported, state, context.towers, members, order, found)
    return PhaseParts(target, members, order, found, divided, roles.effects(graph, context.imported, state, order))


def write_down(context, phase, aliases, variables):
    """The `Phase` of a `PhaseParts`.

    Args:
      aliases: {tensor's name: variable}; variables: [`plan.Variable`].
    """
    graph, divided, order = context.graph, phase.divided, phase.order
    shapes = {variable.name: (variable.dtype, variable.shape) for variable in variables}
    cutter = Cutter(graph, aliases, shapes, context.sign, {})
    combine, towers_gradients = gradients.combine(context, phase, cutter)
    for entry in combine:
        context.sign(entry.tensor)
    shared = any(context.towers.shared(target) for target in losses.differentiated(graph, phase.members))
    return Phase(
        train_op=phase.target,
        losses=context.names(phase.losses),
        loss_scale=losses.scale(graph, context.imported, context.towers, cutter, phase.members, phase.losses),
        shared_loss=shared,
        gradients=towers_gradients,
        raw=gradients.raw(context, towers_gradients),
        combine=combine,
        crossings=_rows(context, divided.crossings),
        twins=_twins(context, divided),
        state_crossings=_state_crossings(context, phase, variables),
        returns=[context.names(tower) for tower in divided.returns] if any(divided.returns) else [],
        early=_rows(context, divided.early),
        kept=[context.names(tower) for tower in divided.kept],
        effects=phase.effects,
        versions=[[node, variable, n] for (node, variable), n in sorted(order.versions.items()) if n],
        pins=[list(pair) for pair in order.pins],
        other_pins=_other_orders(context, phase),
        races=order.races,
        members=len(phase.members),
    )


def _rows(context, crossings):
    """[[tensor's name or None, for each tower]]."""
    for row in crossings.values():
        context.names(row.values())
    towers = range(context.towers.count)
    return [[tensor_name(*row[t]) if t in row else None for t in towers] for row in crossings.values()]


def _other_orders(context, phase):
    """Pins of the other orders that the graph allows, if it leaves any open."""
    if not phase.order.races:
        return []
    settle = ordering.settle
    orders = [settle(context.graph, context.state, phase.members, context.data, v) for v in ("early", "reversed")]
    return [[list(pair) for pair in order.pins] for order in orders if order.pins != phase.order.pins]


def _state_crossings(context, phase, variables):
    """{tensor: effect} of the crossings that do nothing but set one tower's own state."""
    state = {variable.name for variable in variables if variable.role == "state"}
    used = collections.defaultdict(set)
    for effect in phase.effects:
        for tensor in parts.walk_back(context.graph, context.state, effect.node, phase.divided.tower_nodes):
            used[tensor_name(*tensor)].add(effect.node)
    setters = {effect.node for effect in phase.effects if set(effect.writes) <= state}
    return {name: next(iter(nodes)) for name, nodes in used.items() if len(nodes) == 1 and nodes <= setters}


def _twins(context, divided):
    """{tensor of a later tower: tensor of the first} where each is alone in its row: both towers' batch means."""
    lone = [next(iter(row.items())) for row in divided.crossings.values() if len(row) == 1]
    first = [tensor for tower, tensor in lone if tower == 0]
    twins = {}
    for tower, tensor in lone:
        cuts = set(divided.cuts[0]) | set(divided.cuts[tower])
        for candidate in first if tower else []:
            name = tensor_name(*candidate)
            found = tensor_matching.match(context.graph, [(candidate, tensor)], cuts, context.random)
            if not found.differences and name not in twins.values():
                twins[tensor_name(*tensor)] = name
                break
    return twins
