"""Divides a step into what each tower computes and what is computed once, from all towers' results.

A *crossing* is a tensor that leaves a tower: a gradient on its way to the average, a batch statistic on its way into
a moving mean. A *cut* is a tensor that enters one: its part of the batch. Between cuts and crossings lies the
function that a replica runs; behind the crossings the one that runs after replicas have exchanged them.
"""

from __future__ import annotations

import collections

import tensorflow as tf

from legacy.saved.graph import op_types
from workloads.support.errors import InputError

#: Ops that prepare a gradient for the average, where their other inputs are constants.
PREPARES = ("ExpandDims", "Pack", "Reshape", "Mul", "RealDiv", "Div", "Cast")


class Parts(collections.namedtuple("Parts", "tower_nodes cuts common_cuts crossings returns early kept")):
    """
    Attributes:
      tower_nodes: {node: tower}.
      cuts: list over towers of [(node, output)] that bring data into the tower, in order of first use.
      common_cuts: [(node, output)] that bring data or settings into what is computed once.
      crossings: {key: {tower: (node, output)}}; a key is (effect, number), the same for matching tensors.
      returns: list over towers of tensors that come back into the tower from what was made of all towers' results, such
        as the weight of its loss in a mean over all towers' words. Mostly empty.
      early: {key: {tower: tensor}} of the crossings that these are made from.
      kept: list over towers of tensors that the part after the return takes from the part before.
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
    useful = _useful(graph, state, members, order.effects, losses)
    statistics = _statistics_only(graph, state, order.effects)
    tower_nodes = {}
    for name in members:
        tower = towers.of(name)
        if tower is None or name in state.writes:
            continue
        if name in late:
            if name in useful and not _only_updates(graph, state, name):
                raise InputError(f"graph file: {name!r}: tower {tower} uses a variable after the step changed it")
        elif name in useful or name not in statistics:
            tower_nodes[name] = tower
    _hand_over(graph, imported, tower_nodes, members, losses)
    returns = _returns(graph, towers.count, members, tower_nodes)
    ends = [(name, 0) for name in order.effects]
    crossings = _crossings(graph, state, ends, tower_nodes)
    back = list(dict.fromkeys(tensor for tower in returns for tensor in tower))
    early = _crossings(graph, state, back, tower_nodes)
    kept = _kept(graph, towers.count, tower_nodes, returns, early)
    cuts, common = _cuts(graph, state, towers, tower_nodes, order.effects, losses, back)
    return Parts(tower_nodes, cuts, common, crossings, returns, early, kept)


def _returns(graph, count, members, tower_nodes):
    """For each tower, the tensors it takes that are made from other towers' tensors."""
    own = {name: 1 << tower for name, tower in tower_nodes.items()}
    made_from = graph.flow(graph.order(members), own, controls=False, stop=set(tower_nodes))
    found = [[] for _ in range(count)]
    for name in graph.nodes:
        if name in tower_nodes:
            tower = tower_nodes[name]
            for tensor in graph.inputs(name):
                foreign = tensor[0] not in tower_nodes and made_from.get(tensor[0], 0) & ~(1 << tower)
                if foreign and tensor not in found[tower]:
                    found[tower].append(tensor)
    return found


def _kept(graph, count, tower_nodes, returns, early):
    """For each tower, what the part that needs the returns takes from the part that does not.

    Raises:
      InputError: what goes out before the return needs it, so that one exchange more would be needed.
    """
    kept = [[] for _ in range(count)]
    conditional = graph.frames() | graph.branches()
    for tower, tensors in enumerate(returns):
        second = _within(graph, tower_nodes, tower, tensors)
        if any(row[tower][0] in second for row in early.values() if tower in row):
            raise InputError(f"graph file: tower {tower} exchanges results more than twice in a step")
        for name in sorted(second):
            for tensor in graph.inputs(name):
                first = tower_nodes.get(tensor[0]) == tower and tensor[0] not in second
                if first and tensor[0] not in conditional and tensor not in kept[tower]:
                    kept[tower].append(tensor)
    return kept


def _within(graph, tower_nodes, tower, returns):
    """The tower's nodes that depend on its returns."""
    todo = [user for tensor in returns for user, _, output in graph.users(tensor[0]) if output == tensor[1]]
    found = set()
    while todo:
        name = todo.pop()
        if tower_nodes.get(name) == tower and name not in found:
            found.add(name)
            todo += [user for user, _, _ in graph.users(name)]
    return found


def _late(graph, state, members, order):
    """Nodes whose value depends on what the step changed."""
    first = {name for (name, variable), version in order.versions.items() if version > 0}
    return graph.descendants(first | set(order.effects), controls=False) & members


def _only_updates(graph, state, name):
    """Whether a node leads to changes of variables and to no update rule."""
    reached = graph.descendants([name], controls=False)
    return not reached & state.rules


def _useful(graph, state, members, effects, losses):
    """Nodes that losses and update rules need."""
    ends = {name for name, _ in losses}
    for effect in effects:
        if effect in state.rules:
            ends |= {producer for producer, _ in graph.inputs(effect)}
    return graph.ancestors(ends, stop=set(effects), controls=False) & members


def _statistics_only(graph, state, effects):
    """Nodes that depend on variables which are changed without an update rule: moving means, carried state."""
    plain = {v for effect in effects if effect not in state.rules for v in state.writes[effect]}
    plain -= {v for effect in effects if effect in state.rules for v in state.writes[effect]}
    conditional = graph.frames() | graph.branches()  # nothing can leave a branch half way
    found = {name for name, variables in state.reads.items() if plain & set(variables) and name not in conditional}
    todo = list(found)
    while todo:
        for user, _, _ in graph.users(todo.pop()):
            if user not in found and user not in conditional:
                found.add(user)
                todo.append(user)
    return found


def _crossings(graph, state, ends, tower_nodes):
    found, crossings = set(), collections.OrderedDict()
    for end in ends:
        numbers = collections.Counter()
        for tensor in walk_back(graph, state, end[0], tower_nodes):
            tower = tower_nodes[tensor[0]]
            if tensor not in found:
                found.add(tensor)
                crossings.setdefault((end, numbers[tower]), {})[tower] = tensor
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


def _cuts(graph, state, towers, tower_nodes, effects, losses, returns):
    """Where data enter: (list over towers, common)."""
    cuts = []
    for tower in range(towers.count):
        own = [name for name in graph.nodes if tower_nodes.get(name) == tower]  # in the order they were written
        cuts.append(_entering(graph, state, towers, own, tower_nodes, set(returns)))
    ends = effects + [name for name, _ in losses if name not in tower_nodes] + [name for name, _ in returns]
    return cuts, sorted(_entering(graph, state, towers, ends, tower_nodes))


def _entering(graph, state, towers, ends, tower_nodes, stop=()):
    """Tensors that bring data or settings to some nodes, directly or by way of nodes that belong to no tower."""
    found, seen, todo = [], set(ends), list(reversed(ends))
    while todo:
        for tensor in graph.inputs(todo.pop()):
            producer = tensor[0]
            if tensor in state.aliases or producer in tower_nodes or tensor in stop:
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
    return towers.common(producer) and not op_types.is_random(graph.type(producer))
