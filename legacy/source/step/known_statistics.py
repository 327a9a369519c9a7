"""Changes of statistics that a model's function can propose; all others are left to the update."""

from __future__ import annotations

import collections
import dataclasses
from typing import TYPE_CHECKING, Counter, Dict, List, Sequence

from legacy.source.basics.expressions import Name
from legacy.source.basics.rendering import literal_text
from legacy.source.basics.unwritten import Unwritten
from legacy.source.step.statistics import Proposal, Statistics, find_states, find_statistics
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.pieces.piece import VariableVersion
from workloads.numerics.statistics import FIRST_TOWER, TOWERS_IN_TURN

if TYPE_CHECKING:
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Effect, Phase, Plan

#: The dict of what statistics were after each replica's change, in the text: {statistic: [value]}.
TURNS = "turns"


def find_known(plan: Plan, graph: Graph, phase: Phase, counters: Sequence[str]) -> Statistics:
    """Finds the changes that a model's function can propose.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.
      counters: names of the variables that count steps.

    Returns:
      The towers' own states, or else the statistics of the policy that most have; of these, the ones whose new values
      follow from what there was before the step.
    """
    states = find_states(plan, phase)
    if any(states.proposals):
        return states
    found: Dict[str, Statistics] = {}
    for name, effects in _effects_of_statistics(plan, phase).items():
        try:
            one = find_statistics(plan, graph, dataclasses.replace(phase, effects=effects), counters, again=True)
        except Unwritten:
            continue
        if any(one.proposals) and not _reads_late(graph, phase, one):
            found[name] = one
    policies: Counter[str] = collections.Counter(one.policy for one in found.values())
    policy = max(policies, key=policies.__getitem__, default=FIRST_TOWER)
    of_policy = [one for one in found.values() if one.policy == policy]
    in_rounds = any(one.in_rounds for one in of_policy)
    kept = [one.proposals for one in of_policy if one.in_rounds == in_rounds or not one.changes_again]
    proposals: List[List[Proposal]] = [[p for own in kept for p in own[tower]] for tower in range(plan.towers)]
    return Statistics(policy, proposals, in_rounds)


def between_turns(statistics: Statistics) -> Dict[VariableVersion, Name]:
    """Returns {version of a statistic: its text} of what the changes of one tower leave to those of the next."""
    if statistics.policy != TOWERS_IN_TURN or statistics.changes_again:
        return {}
    names = [proposal.variable for proposal in statistics.proposals[0]]
    return {
        VariableVersion(name, turn + 1): Name(f"{TURNS}[{literal_text(name)}][{turn}]")
        for name in names
        for turn in range(len(statistics.proposals) - 1)
    }


def _effects_of_statistics(plan: Plan, phase: Phase) -> Dict[str, List[Effect]]:
    """Returns {statistic: its changes, in order} of those that are changed in every step."""
    statistics = {v.name for v in plan.variables if v.role == "statistic" and not v.of}
    found: Dict[str, List[Effect]] = collections.OrderedDict()
    for effect in phase.effects:
        if effect.writes[0] in statistics:
            found.setdefault(effect.writes[0], []).append(effect)
    return {name: effects for name, effects in found.items() if all(effect.condition is None for effect in effects)}


def _reads_late(graph: Graph, phase: Phase, statistics: Statistics) -> bool:
    """Returns whether a change depends on another variable after the step has changed it."""
    for proposal in [proposal for own in statistics.proposals for proposal in own]:
        late = {read.node for read in phase.versions if read.variable != proposal.variable}
        if late & set(graph.ancestors([parse_tensor_name(proposal.value).node], controls=False)):
            return True
    return False
