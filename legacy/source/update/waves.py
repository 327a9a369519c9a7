"""Waves of an update's changes: those of one wave read only what the waves before it have changed."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Dict, List, NamedTuple, Sequence

from legacy.source.basics.cut import cut_part, variable_of
from legacy.source.basics.unwritten import Unwritten
from workloads.lifted.pieces.piece import Fetch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Effect, Phase, Plan


class Unit(NamedTuple):
    """The changes of one weight and its slots in one wave, or of one other variable.

    Attributes:
      owner: the weight, or the variable.
      effects: in order.
    """

    owner: str
    effects: List[Effect]


def waves_of(
    plan: Plan,
    graph: Graph,
    phase: Phase,
    effects: Sequence[Effect],
    cuts: Sequence[str],
    made: Mapping[str, int] = {},  # noqa: B006  never changed
) -> List[List[Unit]]:
    """Divides changes into waves.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.
      effects: its changes, in order.
      cuts: tensors that are given.
      made: {variable: number of its changes} of those that are changed before the first wave.

    Returns:
      The waves, in order.

    Raises:
      Unwritten: a change is conditional, or reads what can be read neither before nor after a wave.
    """
    changes: Dict[str, List[int]] = collections.defaultdict(list)  # {variable: wave of each change so far}
    numbers: List[int] = []
    read_late: List[Dict[str, int]] = []
    for effect in effects:
        if effect.condition is not None:
            raise Unwritten(f"updates: {effect.writes[0]!r} is changed in a branch of a cond only ({effect.node})")
        late = _late_reads(plan, graph, phase, effect, cuts)
        reads = {name: version for name, version in late.items() if version != made.get(name)}
        after = [changes[name][version - 1] + 1 for name, version in reads.items() if version <= len(changes[name])]
        own = [changes[name][-1] for name in effect.writes if changes[name]]
        numbers.append(max([*after, *own], default=0))
        read_late.append(reads)
        for name in effect.writes:
            changes[name].append(numbers[-1])
    for number, (effect, reads) in enumerate(zip(effects, read_late)):
        for name, version in reads.items():
            before = sum(wave < numbers[number] for wave in changes[name])
            others = [e for e, wave in zip(effects[:number], numbers) if wave == numbers[number] and name in e.writes]
            if before != version or others:
                raise Unwritten(f"updates: {effect.node!r} reads {name!r} between two of its changes")
    return [_units(plan, [e for e, own in zip(effects, numbers) if own == wave]) for wave in sorted(set(numbers))]


def _late_reads(plan: Plan, graph: Graph, phase: Phase, effect: Effect, cuts: Sequence[str]) -> Dict[str, int]:
    """Returns {variable: changes before the read} of what an effect reads after the step has changed it."""
    fetches = [Fetch(value, effect.node) for value in effect.values]
    reads = [variable_of(feed) for feed in cut_part(plan, graph, fetches, cuts, phase.versions).piece.feeds]
    found: Dict[str, int] = {}
    for read in reads:
        if read is not None and read.version and found.setdefault(read.variable, read.version) != read.version:
            raise Unwritten(f"updates: {effect.node!r} reads {read.variable!r} before and after one of its changes")
    return found


def _units(plan: Plan, effects: Sequence[Effect]) -> List[Unit]:
    owners = {variable.name: variable.of or variable.name for variable in plan.variables}
    found: Dict[str, List[Effect]] = collections.OrderedDict()
    for effect in effects:
        found.setdefault(owners.get(effect.writes[0], effect.writes[0]), []).append(effect)
    return [Unit(owner, own) for owner, own in found.items()]
