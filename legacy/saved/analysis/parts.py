"""Divides a step into the towers' own functions and what is computed once, from all towers' results.

A *cut* is a tensor that brings data into a tower: its share of the batch. A *crossing* is a tensor that leaves one: a
gradient on its way to the average, a batch statistic on its way into a moving mean. From the cuts to the crossings
leads the function that a replica runs; behind the crossings begins the function that runs once, after the replicas
have exchanged them.
"""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterable
from typing import Dict, NamedTuple, Tuple

from legacy.saved.analysis.order.ordering import Order
from legacy.saved.analysis.tower_nodes import find_tower_nodes
from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.graph.variables import VariableUses
from legacy.saved.tower_search.towers import Towers
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.errors import InputError

#: {(tensor that the crossings lead to, number): {tower: crossing}}; towers' matching crossings share a key.
Crossings = Dict[Tuple[TensorId, int], Dict[int, TensorId]]


class StepParts(NamedTuple):
    """A step, divided into its towers and what is computed once.

    Attributes:
      tower_nodes: {node: the tower that computes it}.
      cuts: for each tower, the tensors that bring data into it, in order of first use.
      common_cuts: tensors that bring data or settings into what is computed once.
      crossings: tensors that leave the towers on their way to an update op.
      returns: for each tower, tensors that come back into it from what was computed from all towers' results, such as
        the weight of its loss in a mean over all towers' words. Mostly empty.
      early_crossings: tensors that leave the towers on their way to the returns.
      saved_tensors: for each tower, tensors that its nodes behind the returns take from its nodes before them.
    """

    tower_nodes: dict[str, int]
    cuts: list[list[TensorId]]
    common_cuts: list[TensorId]
    crossings: Crossings
    returns: list[list[TensorId]]
    early_crossings: Crossings
    saved_tensors: list[list[TensorId]]


def divide_step(
    graph: Graph,
    imported: ImportedGraph,
    state: VariableUses,
    towers: Towers,
    phase_members: set[str],
    order: Order,
    losses: list[TensorId],
) -> StepParts:
    """Divides one step.

    Args:
      graph: the cut graph.
      imported: the same graph as TensorFlow imports it.
      state: its variables.
      towers: the towers, and the nodes that depend on each.
      phase_members: nodes that the step runs.
      order: the order of the step's reads and updates.
      losses: tensors that the towers compute besides.

    Returns:
      The step's parts.

    Raises:
      InputError: a tower uses a variable after the step has changed it, or towers exchange results more than twice.
    """
    members = graph.ancestors(phase_members | {name for name, _ in losses}, controls=False)
    tower_nodes = find_tower_nodes(graph, imported, state, towers, members, order, losses)
    owners = _owned_inputs(graph, towers, tower_nodes)
    returns = _returns(graph, towers.count, members, tower_nodes, owners)
    crossings = _crossings(graph, state, [TensorId(name, 0) for name in order.effects], tower_nodes, {})
    returned = list(dict.fromkeys(tensor for tower in returns for tensor in tower))
    early = _crossings(graph, state, returned, tower_nodes, owners)
    saved = [_saved_tensors(graph, tower_nodes, tower, tensors, early) for tower, tensors in enumerate(returns)]
    cuts = _cuts(graph, state, towers, tower_nodes, returns)
    computed = [tensor for tensor in returned if tensor not in owners and tensor[0] not in tower_nodes]
    common_cuts = _common_cuts(graph, state, towers, tower_nodes, order.effects, losses, computed)
    return StepParts(tower_nodes, cuts, common_cuts, crossings, returns, early, saved)


def tensors_leaving(graph: Graph, state: VariableUses, effect: str, tower_nodes: Collection[str]) -> list[TensorId]:
    """Returns the towers' tensors nearest to a node that is computed once.

    Args:
      graph: the cut graph.
      state: its variables; the search ends at them.
      effect: the node, mostly an update op.
      tower_nodes: nodes that towers compute.

    Returns:
      Tensors, in the order in which the node's inputs lead to them.
    """
    seen: set[str] = set()
    found: dict[TensorId, None] = {}
    todo = [tensor for tensor in reversed(graph.inputs(effect)) if tensor not in state.aliases]
    while todo:
        tensor = todo.pop()
        name = tensor[0]
        if name in tower_nodes:
            found[tensor] = None
        elif name not in seen and tensor not in state.aliases:
            seen.add(name)
            todo += reversed(graph.inputs(name))
    return list(found)


def _owned_inputs(graph: Graph, towers: Towers, tower_nodes: dict[str, int]) -> dict[TensorId, int]:
    """{tensor that brings data in: the only tower whose forward pass takes it}."""
    takers: dict[TensorId, set[int]] = collections.defaultdict(set)
    for name, tower in tower_nodes.items():
        if not is_gradient_op(name):
            for tensor in graph.inputs(name):
                if tensor[0] not in tower_nodes and _brings_data(graph, towers, tensor[0]):
                    takers[tensor].add(tower)
    return {tensor: next(iter(found)) for tensor, found in takers.items() if len(found) == 1}


def _returns(
    graph: Graph, count: int, members: set[str], tower_nodes: dict[str, int], owners: dict[TensorId, int]
) -> list[list[TensorId]]:
    """For each tower, the tensors that it takes and that other towers compute, or that are computed from theirs."""
    own = {name: 1 << tower for name, tower in tower_nodes.items()}
    made_from = graph.flow(graph.order(members), own, controls=False, stop=set(tower_nodes))
    found: list[dict[TensorId, None]] = [{} for _ in range(count)]
    for name in [name for name in graph.nodes if name in tower_nodes]:
        tower = tower_nodes[name]
        for tensor in graph.inputs(name):
            made_by = own.get(tensor[0]) or made_from.get(tensor[0], 0)
            if tensor in owners:  # the backward pass takes the input of another tower
                made_by = 1 << owners[tensor]
            if made_by & ~(1 << tower):
                found[tower][tensor] = None
    return [list(tensors) for tensors in found]


def _crossings(
    graph: Graph,
    state: VariableUses,
    ends: Iterable[TensorId],
    tower_nodes: dict[str, int],
    owners: dict[TensorId, int],
) -> Crossings:
    """The towers' tensors nearest to some tensors; each one is listed with the first end that it leads to."""
    found: set[TensorId] = set()
    crossings: Crossings = collections.OrderedDict()
    for end in ends:
        numbers: dict[int, int] = collections.Counter()
        is_towers = end[0] in tower_nodes or end in owners
        for tensor in [end] if is_towers else tensors_leaving(graph, state, end[0], tower_nodes):
            tower = owners[tensor] if tensor in owners else tower_nodes[tensor[0]]
            if tensor not in found:
                found.add(tensor)
                crossings.setdefault((end, numbers[tower]), {})[tower] = tensor
                numbers[tower] += 1
    return crossings


def _saved_tensors(
    graph: Graph, tower_nodes: dict[str, int], tower: int, returns: list[TensorId], early: Crossings
) -> list[TensorId]:
    """Tensors that a tower's nodes behind its returns take from its nodes before them.

    Raises:
      InputError: an early crossing depends on a return, so that the towers would have to exchange results once more.
    """
    behind = _behind_returns(graph, tower_nodes, tower, returns)
    if any(row[tower][0] in behind for row in early.values() if tower in row):
        raise InputError(f"graph file: tower {tower} exchanges results more than twice in a step")
    conditional = graph.frames() | graph.branches()
    taken = [tensor for name in sorted(behind) for tensor in graph.inputs(name)]
    before = [t for t in taken if tower_nodes.get(t[0]) == tower and t[0] not in behind and t[0] not in conditional]
    return list(dict.fromkeys(before))


def _behind_returns(graph: Graph, tower_nodes: dict[str, int], tower: int, returns: list[TensorId]) -> set[str]:
    """The tower's nodes that depend on its returns."""
    todo = [user for tensor in returns for user, _, output in graph.users(tensor[0]) if output == tensor[1]]
    found: set[str] = set()
    while todo:
        name = todo.pop()
        if tower_nodes.get(name) == tower and name not in found:
            found.add(name)
            todo += [user for user, _, _ in graph.users(name)]
    return found


def _cuts(
    graph: Graph, state: VariableUses, towers: Towers, tower_nodes: dict[str, int], returns: list[list[TensorId]]
) -> list[list[TensorId]]:
    """For each tower, the tensors that bring data into it."""
    cuts = []
    for tower in range(towers.count):
        own = [name for name in graph.nodes if tower_nodes.get(name) == tower]  # in the order of the graph
        cuts.append(_tensors_entering(graph, state, towers, own, tower_nodes, set(returns[tower])))
    return cuts


def _common_cuts(
    graph: Graph,
    state: VariableUses,
    towers: Towers,
    tower_nodes: dict[str, int],
    effects: list[str],
    losses: list[TensorId],
    returned: list[TensorId],
) -> list[TensorId]:
    """The tensors that bring data into what is computed once, sorted."""
    ends = effects + [name for name, _ in losses if name not in tower_nodes] + [name for name, _ in returned]
    return sorted(_tensors_entering(graph, state, towers, ends, tower_nodes))


def _tensors_entering(
    graph: Graph,
    state: VariableUses,
    towers: Towers,
    ends: list[str],
    tower_nodes: dict[str, int],
    stop: Collection[TensorId] = (),
) -> list[TensorId]:
    """Tensors that bring data or settings to some nodes, directly or by way of nodes that belong to no tower."""
    found: dict[TensorId, None] = {}
    seen, todo = set(ends), list(reversed(ends))
    while todo:
        for tensor in graph.inputs(todo.pop()):
            producer = tensor[0]
            if tensor in state.aliases or producer in tower_nodes or tensor in stop:
                continue
            if _brings_data(graph, towers, producer):
                found[tensor] = None
            elif producer not in seen:
                seen.add(producer)
                todo.append(producer)
    return list(found)


def _brings_data(graph: Graph, towers: Towers, producer: str) -> bool:
    """Whether a node holds data that no tower has computed: a placeholder, or what is computed before all towers."""
    if graph.type(producer) == "Placeholder":
        return True
    return towers.is_common(producer) and not op_types.is_random(graph.type(producer))
