"""Copies of weights that a run of their own sets to the weights again before they are used, as A3C's workers have them.

Where a copy equals its weight whenever a train op reads it, gradients are those of the weight. So the copy's readers
read the weight; the run that sets the copies stays.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Dict, List, Tuple

import numpy as np

from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.graph.edits import GraphCopy

if TYPE_CHECKING:
    from workloads.lifted.plan import Effect, Plan
    from workloads.program import Arrays

#: Ops that set a variable.
ASSIGNS = ("Assign", "AssignVariableOp")


def with_weights_for_copies(plan: Plan, graph: Graph, initial: Arrays) -> Tuple[Plan, Graph]:
    """Returns a lift in which the readers of such copies read the weights.

    Args:
      plan: of the lift.
      graph: of the lift.
      initial: {variable: value to start from}.

    Returns:
      Both; the same ones if there are no such copies.
    """
    copies = synced_copies(plan, graph, initial)
    if not copies:
        return plan, graph
    setting = {effect.node for phase in plan.phases for effect in phase.effects if effect.writes[0] in copies}
    result = GraphCopy(graph)
    for node in [node for node in result.nodes.values() if node.name not in setting]:
        for position, text in enumerate(node.input):
            if text in copies:
                node.input[position] = copies[text]
    aliases = {
        tensor: variable if parse_tensor_name(tensor).node in {variable, *setting} else copies.get(variable, variable)
        for tensor, variable in plan.aliases.items()
    }
    return dataclasses.replace(plan, aliases=aliases), result.graph()


def synced_copies(plan: Plan, graph: Graph, initial: Arrays) -> Dict[str, str]:
    """Finds the copies that equal a weight whenever they are read.

    Args:
      plan: of the lift.
      graph: of the lift.
      initial: {variable: value to start from}.

    Returns:
      {copy: weight}.
    """
    effects: Dict[str, List[Effect]] = {}
    for effect in [effect for phase in plan.phases for effect in phase.effects]:
        for name in effect.writes:
            effects.setdefault(name, []).append(effect)
    weights = {variable.name for variable in plan.variables if variable.role == "weight"}
    found = {}
    for name, own in effects.items():
        sources = {
            plan.aliases.get(effect.values[0]) for effect in own if effect.op in ASSIGNS and not effect.condition
        }
        source = next(iter(sources), None)
        is_set_alone = len(sources) == 1 and all(effect.op in ASSIGNS and not effect.condition for effect in own)
        if is_set_alone and source in weights and name not in weights:
            users = [use.node for effect in own for use in graph.users(effect.node)]
            if not users and _is_equal_when_read(plan, graph, initial, name, source):
                found[name] = source
    return found


def _is_equal_when_read(plan: Plan, graph: Graph, initial: Arrays, copy: str, weight: str) -> bool:
    """Returns whether a copy equals a weight at the beginning of each run that reads it, in the first two periods.

    Args:
      plan: of the lift.
      graph: of the lift.
      initial: {variable: value to start from}.
      copy: a variable that is only set to the weight.
      weight: the weight.
    """
    equal = copy in initial and weight in initial and np.array_equal(initial[copy], initial[weight])
    readers = graph.descendants([use.node for use in graph.users(copy)], controls=False)
    for phase in [*plan.phases, *plan.phases]:
        if any(read.variable == copy for read in phase.versions):  # it is read after it is set
            return False
        setting = [effect for effect in phase.effects if copy in effect.writes]
        ends = {effect.node for effect in phase.effects if effect not in setting}
        ends |= {parse_tensor_name(loss).node for loss in phase.losses}
        if ends & readers and not equal:
            return False
        changes = sum(weight in effect.writes for effect in phase.effects)
        if setting:
            value = graph.ancestors([setting[-1].node], controls=False)
            seen = [read.version for read in phase.versions if read.variable == weight and read.node in value]
            equal = max(seen, default=0) == changes
        elif changes:
            equal = False
    return True
