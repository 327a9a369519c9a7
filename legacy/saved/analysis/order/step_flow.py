"""Paths between the nodes that read and update variables, in the graph of one step."""

from __future__ import annotations

import collections
import functools
import operator
from collections.abc import Iterable, Mapping, Sequence

from legacy.saved.graph import op_types
from legacy.saved.graph.variables import VariableUses
from workloads.lifted.graph import EXITS, Graph


class StepFlow:
    """Paths of the graph from and to the update ops of a step; the same for every order of its reads and updates.

    Args:
      graph: the cut graph.
      state: its variables, and the nodes that read and update them.
      members: nodes that the step runs.

    Attributes:
      members: as given.
      effects: update ops, in a topological order.
      bit: {update op: its bit}.
      effects_before: {node: bits of the update ops that a path leads from}.
      effects_behind: {node: bits of the update ops that a path leads to}.
      readers: {variable: nodes that read its value, in a topological order}; not those that take its shape alone.
      passes: {variable: nodes that hand it on into or out of a branch or a loop, in a topological order}.
      view_users: {variable: nodes that use a view of its memory, in a topological order}.
      updates: {variable: update ops that change it, in a topological order}.
      racing: nodes that read a variable, or use a view of it, without a path to or from each of its update ops, and
        ends of loops.
      before: {update op or racing node: bits of those that a path leads from, numbered in this order}.
    """

    def __init__(self, graph: Graph, state: VariableUses, members: set[str]) -> None:
        ordered = graph.order(members)
        self.members = members
        self.effects = [name for name in ordered if name in state.writes]
        self.bit = {name: 1 << i for i, name in enumerate(self.effects)}
        self.effects_before = graph.flow(ordered, self.bit)
        self.effects_behind = graph.flow(ordered, self.bit, backwards=True)
        self.updates: dict[str, list[str]] = collections.defaultdict(list)
        for name in self.effects:
            for variable in dict.fromkeys(state.writes[name]):
                self.updates[variable].append(name)
        of_values = [name for name in ordered if graph.type(name) not in op_types.SHAPE_OPS]  # shapes do not change
        self.readers = _by_variable(of_values, state.reads)
        self.passes = _by_variable(ordered, state.passes)
        self.view_users = _by_variable(of_values, state.view_uses)
        self.racing = self._racing(graph, state, of_values)
        bits = {name: 1 << i for i, name in enumerate([*self.effects, *self.racing])}
        before = graph.flow(ordered, bits)
        self.before = {name: before[name] for name in bits}

    def bits(self, names: Iterable[str]) -> int:
        """Returns the bits of those of some nodes that are update ops of the step."""
        return functools.reduce(operator.or_, (self.bit.get(name, 0) for name in names), 0)

    def _racing(self, graph: Graph, state: VariableUses, of_values: list[str]) -> list[str]:
        """The nodes besides update ops whose place among the updates may have to be chosen, in order."""
        updates = {variable: self.bits(names) for variable, names in self.updates.items()}

        def is_undecided(name: str) -> bool:
            decided = self.effects_before[name] | self.effects_behind[name]
            used = [*state.reads.get(name, ()), *state.view_uses.get(name, ())]
            return any(updates.get(variable, 0) & ~decided for variable in used)

        others = [name for name in of_values if name not in self.bit]
        return [name for name in others if graph.type(name) in EXITS or is_undecided(name)]


def _by_variable(names: Iterable[str], uses: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Returns {variable: those of `names` that use it, in their order} of {node: variables that it uses}."""
    found: dict[str, list[str]] = collections.defaultdict(list)
    for name in names:
        for variable in uses.get(name, ()):
            found[variable].append(name)
    return found
