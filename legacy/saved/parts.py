"""Divides a step into what each tower computes and what is computed once, from all towers' results.

A *crossing* is a tensor that leaves a tower: a gradient on its way to the average, a batch statistic on its way into
a moving mean. A *cut* is a tensor that enters one: its part of the batch. Between cuts and crossings lies the
function that a replica runs; behind the crossings the one that runs after replicas have exchanged them.
"""

from __future__ import annotations

import collections

import tensorflow as tf

from legacy.saved import vocabulary
from workloads.errors import InputError

#: Ops that prepare a gradient for the average, where their other inputs are constants.
PREPARES = ("ExpandDims", "Pack", "Reshape", "Mul", "RealDiv", "Div", "Cast")


class Parts(collections.namedtuple("Parts", "tower_nodes cuts common_cuts crossings")):
    """
    Attributes:
      tower_nodes: {node: tower}.
      cuts: list over towers of [(node, output)] that bring data into the tower, in order of first use.
      common_cuts: [(node, output)] that bring data or settings into what is computed once.
      crossings: {key: {tower: (node, output)}}; a key is (effect, number), the same for matching tensors.
    """


def divide(graph, imported, state, towers, phase_members, order, losses):
    """The `Parts` of one step.

    Args:
      phase_members: nodes that the step runs.
      order: its `ordering.Order`.
      losses: [(node, output)] that towers compute besides.

    Raises:
      InputError: a tower uses a variable after the step has changed it.
    """
    members = graph.ancestors(phase_members | {name for name, _ in losses}, controls=False)
    late = _late(graph, state, members, order)
    kept = _useful(graph, state, members, order.effects, losses)
    statistics = _statistics_only(graph, state, order.effects)
    tower_nodes = {}
    for name in members:
        tower = towers.of(name)
        if tower is None or name in state.writes:
            continue
        if name in late:
            if name in kept and not _only_updates(graph, state, name):
                raise InputError("graph file: {!r}: tower {} uses a variable after the step changed it".format(name, tower))
        elif name in kept or name not in statistics:
            tower_nodes[name] = tower
    _hand_over(graph, imported, tower_nodes, members, losses)
    crossings = _crossings(graph, state, order.effects, tower_nodes)
    cuts, common = _cuts(graph, state, towers, tower_nodes, order.effects, losses)
    return Parts(tower_nodes, cuts, common, crossings)


def _late(graph, state, members, order):
    """Nodes whose value depends on what the step changed."""
    first = {name for (name, variable), version in order.versions.items() if version > 0}
    return graph.descendants(first | set(order.effects), controls=False) & members


def _only_updates(graph, state, name):
    """Whether a node leads to changes of variables and to no update rule."""
    reached = graph.descendants([name], controls=False)
    return not any(vocabulary.is_apply(graph.type(n)) for n in reached)


def _useful(graph, state, members, effects, losses):
    """Nodes that losses and update rules need."""
    ends = {name for name, _ in losses}
    for effect in effects:
        if vocabulary.is_apply(graph.type(effect)):
            ends |= {producer for producer, _ in graph.inputs(effect)}
    return graph.ancestors(ends, stop=set(effects), controls=False) & members


def _statistics_only(graph, state, effects):
    """Nodes that depend on variables which are changed without an update rule: moving means, carried state."""
    plain = {v for effect in effects if not vocabulary.is_apply(graph.type(effect)) for v in state.writes[effect]}
    plain -= {v for effect in effects if vocabulary.is_apply(graph.type(effect)) for v in state.writes[effect]}
    conditional = graph.frames() | graph.branches()  # nothing can leave a branch half way
    found = {name for name, variables in state.reads.items() if plain & set(variables) and name not in conditional}
    todo = list(found)
    while todo:
        for user, _, _ in graph.users(todo.pop()):
            if user not in found and user not in conditional:
                found.add(user)
                todo.append(user)
    return found


def _crossings(graph, state, effects, tower_nodes):
    found, crossings = set(), collections.OrderedDict()
    for effect in effects:
        numbers = collections.Counter()
        for tensor in walk_back(graph, state, effect, tower_nodes):
            tower = tower_nodes[tensor[0]]
            if tensor not in found:
                found.add(tensor)
                crossings.setdefault((effect, numbers[tower]), {})[tower] = tensor
                numbers[tower] += 1
    return crossings


def walk_back(graph, state, effect, tower_nodes):
    """The towers' tensors that an effect is made of, in the order in which its inputs lead to them."""
    seen, found = set(), []
    todo = [pair for pair in reversed(graph.inputs(effect)) if pair not in state.aliases]
    while todo:
        name, output = todo.pop()
        if name in tower_nodes:
            if (name, output) not in found:
                found.append((name, output))
        elif name not in seen and (name, output) not in state.aliases:
            seen.add(name)
            todo += reversed(graph.inputs(name))
    return found


def _hand_over(graph, imported, tower_nodes, members, losses):
    """Takes out of the towers what only prepares a gradient for the average: expand_dims, a division by the towers."""
    kept = {name for name, _ in losses}
    todo = list(tower_nodes)
    while todo:
        name = todo.pop()
        users = [user for user, _, _ in graph.users(name) if user in members]
        if name not in tower_nodes or name in kept or not users or any(user in tower_nodes for user in users):
            continue
        if graph.type(name) in PREPARES and "_grad/" not in name and _scales(graph, imported, name, tower_nodes):
            del tower_nodes[name]
            todo += [producer for producer, _ in graph.inputs(name)]


def _scales(graph, imported, name, tower_nodes):
    """Whether a node has one input from its tower, and constants otherwise."""
    others = [tensor for tensor in graph.inputs(name) if tensor[0] not in tower_nodes]
    tensors = [imported.tf_graph.get_tensor_by_name("{}:{}".format(*tensor)) for tensor in others]
    constant = all(tf.get_static_value(tensor) is not None for tensor in tensors)
    return constant and len(graph.inputs(name)) - len(others) == 1


def _cuts(graph, state, towers, tower_nodes, effects, losses):
    """Where data enter: (list over towers, common)."""
    cuts = []
    for tower in range(towers.count):
        own = [name for name in graph.nodes if tower_nodes.get(name) == tower]  # in the order they were written
        cuts.append(_entering(graph, state, towers, own, tower_nodes))
    ends = effects + [name for name, _ in losses if name not in tower_nodes]
    return cuts, sorted(_entering(graph, state, towers, ends, tower_nodes))


def _entering(graph, state, towers, ends, tower_nodes):
    """Tensors that bring data or settings to some nodes, directly or by way of nodes that belong to no tower."""
    found, seen, todo = [], set(ends), list(reversed(ends))
    while todo:
        for tensor in graph.inputs(todo.pop()):
            producer = tensor[0]
            if tensor in state.aliases or producer in tower_nodes:
                continue
            if _brings_data(graph, towers, producer):
                if tensor not in found:
                    found.append(tensor)
            elif producer not in seen:
                seen.add(producer)
                todo.append(producer)
    return found


def _brings_data(graph, towers, producer):
    if graph.type(producer) == "Placeholder":
        return True
    return towers.common(producer) and not vocabulary.is_random(graph.type(producer))
