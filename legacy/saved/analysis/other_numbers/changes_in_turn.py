"""Statistics and counters that each tower changes in turn: the graph changes them as often as it has towers."""

from __future__ import annotations

import collections
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from legacy.saved.analysis.values.update_sources import UpdateSources
from legacy.saved.graph import op_types
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.plan import Plan

if TYPE_CHECKING:
    from legacy.saved.graph.imported import ImportedGraph


def changed_by_several(
    plan: Plan, graph: Graph, tower_of: Callable[[str], int | None] = lambda node: None
) -> list[str]:
    """Returns statistics and counters with several changes in a step that no single tower makes, nor all together.

    All make a change together if it is not of one tower's results, and waits for those of all, as a step counter that
    two optimizers raise, or a sum of gradients that is set back; but as many changes as there are towers that all
    follow the same update may be one for each. So do fewer changes than there are towers that are of none and wait
    for none, as of a counter that an op besides the optimizer raises. Where towers have weights of their own, which
    take one gradient, a change may follow the update of one tower's.

    Args:
      plan: of the graph.
      graph: the subgraph that a step runs.
      tower_of: the tower whose op an update is, given its node; None of one that no tower has.

    Returns:
      Their names.
    """
    names = plan.changed_in_turn
    if plan.towers == 1 or not names:
        return []
    towers: dict[str, set[int]] = {name: set() for name in names}
    owners: dict[str, set[int | None]] = {name: set() for name in names}
    by_each: set[str] = set()
    free: list[str] = []
    followers: collections.Counter[tuple[str, frozenset[str]]] = collections.Counter()
    for phase in plan.phases:
        sources = UpdateSources(graph, phase)
        updates = {effect.node for effect in phase.effects}
        shared = all(len(set(tensors.values())) == len(tensors) for tensors in phase.gradients)
        for effect in phase.effects:
            for name in towers.keys() & set(effect.writes):
                own, waited = sources.towers(effect), sources.waited_for(effect)
                towers[name].update(own)
                owners[name].add(tower_of(effect.node))
                if not own and not waited and tower_of(effect.node) is None:
                    free.append(name)
                elif not shared or len(waited) != plan.towers or len(own) == 1:
                    by_each.add(name)
                else:
                    followers[name, frozenset(updates & graph.ancestors([effect.node]) - {effect.node})] += 1
    by_each.update(name for (name, _), count in followers.items() if count >= plan.towers)
    by_each.update(name for name in names if free.count(name) >= plan.towers)
    by_each.update(name for name in names if len(owners[name] - {None}) > 1)
    return [name for name in names if name in by_each and len(towers[name]) != 1]


def changed_by_each(plan: Plan, graph: Graph) -> list[str]:
    """Returns statistics and counters that each tower changes in turn, of a plan with what its analysis found.

    Args:
      plan: of the lift.
      graph: of the lift.

    Returns:
      Their names, sorted.
    """
    return sorted({*changed_by_several(plan, graph), *plan.changed_beside})


def is_set_alike(plan: Plan, name: str, data: Collection[str]) -> bool:
    """Returns whether all changes set a variable, to values without data, as each tower of a normalized weight does.

    Args:
      plan: of the graph.
      name: of the variable.
      data: nodes that depend on data.

    Returns:
      The answer.
    """
    changes = [effect for phase in plan.phases for effect in phase.effects if name in effect.writes]
    values = {parse_tensor_name(value).node for effect in changes for value in effect.values}
    return all(effect.op in op_types.SETS for effect in changes) and values.isdisjoint(data)


def read_in_training(plan: Plan, graph: Graph, reads: Mapping[str, Collection[str]]) -> set[str]:
    """Returns the variables that losses or the updates of weights depend on, also by what other variables are set to.

    Args:
      plan: of the graph.
      graph: the subgraph that a step runs.
      reads: {node: variables that it reads}.

    Returns:
      The names, those of the weights and their slots among them.
    """
    found = {variable.name for variable in plan.variables if variable.role in ("weight", "slot")}
    effects = [effect for phase in plan.phases for effect in phase.effects]
    losses = {name for phase in plan.phases for row in (phase.losses, *phase.other_losses) for name in row}
    ends = {parse_tensor_name(name).node for name in losses}
    ends |= {effect.node for effect in effects if not found.isdisjoint(effect.writes)}
    while ends:
        before = graph.ancestors(ends, controls=False)
        new = {name for node in before for name in reads.get(node, ())} - found
        found |= new
        ends = {effect.node for effect in effects if not new.isdisjoint(effect.writes)}
    return found


def raised_by_all(plan: Plan, imported: ImportedGraph, names: Collection[str]) -> Iterator[str]:
    """Yields a reason for each of some variables that a step raises by the number of towers, or of their examples.

    Args:
      plan: of the graph.
      imported: the graph in TensorFlow.
      names: of the variables.

    Yields:
      The reasons.
    """
    counts = {plan.towers: "one for each tower"}
    if plan.batch:
        counts[plan.towers * plan.batch] = "the examples of all towers"
    for phase in plan.phases if plan.towers > 1 else ():
        for effect in phase.effects:
            if "AssignAdd" in effect.op and effect.writes[0] in names and effect.values:
                value = imported.constant(*parse_tensor_name(effect.values[0]))
                number = float(value) if value is not None and np.ndim(value) == 0 else 0.0
                if number in counts:
                    yield f"a step raises {effect.writes[0]} by {number:g}, which may be {counts[int(number)]}"
