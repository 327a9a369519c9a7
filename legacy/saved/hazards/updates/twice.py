"""Hazard of variables that two updates change in one run of a train op."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Sequence

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.conditions import exclude_each_other
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.plan import Effect, Phase
from workloads.support.wording import counted, listed

#: Of variables, so many are named.
MOST_NAMED = 3


def updated_twice(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds train ops that update variables twice in one run, other than once by each tower alone."""
    for phase in found.plan.phases:
        updates: dict[str, list[Effect]] = collections.defaultdict(list)
        for effect in phase.effects:
            if effect.node in found.context.state.rules and effect.gradient is not None:
                updates[effect.writes[0]].append(effect)
        twice = {name: effects for name, effects in updates.items() if _are_two(found, phase, effects)}
        for variable, effects in twice.items():
            yield Hazard(
                "UPDATED_TWICE",
                effects[1].node,
                f"one run of {phase.train_op} updates {counted(len(twice), 'variable')} "
                f"({listed(list(twice), MOST_NAMED)}) twice: {effects[0].node} ({op_types.rule_name(effects[0].op)}) "
                f"and {effects[1].node} ({op_types.rule_name(effects[1].op)}) both change {variable}",
                "leave out the update that was not meant, such as a minimize() that is left; for parity keep both",
            )
            break


def _are_two(found: Analysis, phase: Phase, effects: Sequence[Effect]) -> bool:
    """Whether some updates of a variable are more than one that can run together, and not one of each tower."""
    if len(effects) < 2 or exclude_each_other(found.cut.graph, effects[0].node, effects[1].node):
        return False
    parts = {entry.tensor: [bool(names) for names in entry.parts] for entry in phase.combine}
    alone = [parts.get(effect.gradient or "", []) for effect in effects]
    return any(sum(towers) != 1 for towers in alone) or len(set(map(tuple, alone))) < len(alone)
