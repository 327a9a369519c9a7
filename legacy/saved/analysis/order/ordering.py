"""Orders a step's reads and updates of variables: as the graph's edges demand, and by rules where they leave a race.

The result is a static single assignment form: every node that reads a variable is given the number of update ops that
changed the variable before. Where no path of the graph orders a read and an update (or two updates), there is a
read-before-update race: one of the orders that the graph allows is chosen, and the control dependencies that enforce
it are listed, so that the old graph can be made to keep to it too.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from typing import NamedTuple

from legacy.saved.analysis.order.behind_branches import order_behind_branches
from legacy.saved.analysis.order.chosen_order import ChosenOrder
from legacy.saved.analysis.order.copies import copy_before
from legacy.saved.analysis.order.meant_order import MeantOrder
from legacy.saved.analysis.order.race_choices import AS_MEANT, RaceChoices
from legacy.saved.analysis.order.step_flow import StepFlow
from legacy.saved.graph import op_types
from legacy.saved.graph.conditions import exclude_each_other
from legacy.saved.graph.variables import VariableUses
from legacy.saved.runs.carried_state import carrying_node
from workloads.lifted.graph import ENTERS, EXITS, Graph
from workloads.lifted.plan import ControlDependency, Race
from workloads.support.errors import InputError


class Order(NamedTuple):
    """An order of the reads and updates of one step.

    Attributes:
      effects: update ops, in the order in which they run.
      versions: {(node, variable): number of updates of the variable that run before the node reads it, or before those
        read it that the node hands it on to}.
      dependencies: control dependencies that the order needs and the graph does not have.
      races: between updates, or between a read and an update, of a variable.
    """

    effects: list[str]
    versions: dict[tuple[str, str], int]
    dependencies: list[ControlDependency]
    races: list[Race]


def order_step(
    graph: Graph,
    state: VariableUses,
    members: set[str],
    depends_on_data: set[str],
    choices: RaceChoices = AS_MEANT,
    flow: StepFlow | None = None,
    others: Sequence[Collection[str]] = (),
) -> Order:
    """Orders the reads and updates of a step.

    Args:
      graph: the cut graph.
      state: its variables, and the nodes that read and update them.
      members: nodes that the step runs.
      depends_on_data: nodes whose value depends on the step's data or random numbers, or that a loss is made of.
      choices: how races are decided.
      flow: of the same step, if it is at hand.
      others: for each train op that runs in other steps, the nodes that it runs.

    Returns:
      The `Order`.

    Raises:
      InputError: the chosen order contradicts itself: its control dependencies close a cycle.
    """
    ordering = _Ordering(graph, state, flow or StepFlow(graph, state, members), depends_on_data, choices, others)
    for variable in state.variables:
        ordering.order_variable(variable)
    frames = graph.frames()
    # A control edge may not leave a loop: only an Exit does.
    dependencies = [dependency for dependency in ordering.dependencies if not frames & set(dependency)]
    try:
        final, dependencies = order_behind_branches(graph, members, dependencies)
    except ValueError:  # told of the dependencies as they are
        final = _final_order(graph, members, dependencies)
    effects = [name for name in final if name in state.writes]
    return Order(effects, ordering.versions, dependencies, ordering.races)


def _final_order(graph: Graph, members: set[str], dependencies: list[ControlDependency]) -> list[str]:
    """Returns the nodes of a step in an order that control dependencies ask for.

    Raises:
      InputError: they close a cycle.
    """
    try:
        return graph.order(members, dependencies)
    except ValueError as error:
        raise InputError(f"graph file: no order of reads and updates around {str(error)!r} satisfies the graph")


class _Ordering:
    """An `Order` in the making: one variable is ordered after the other.

    Attributes:
      versions, dependencies, races: as in `Order`, of the variables ordered so far.
    """

    def __init__(
        self,
        graph: Graph,
        state: VariableUses,
        flow: StepFlow,
        depends_on_data: set[str],
        choices: RaceChoices,
        others: Sequence[Collection[str]],
    ) -> None:
        self._graph, self._state, self._members, self._others = graph, state, flow.members, others
        self._depends_on_data, self._choices = depends_on_data, choices
        self._meant = MeantOrder(graph, state, flow, depends_on_data)
        self._bit, self._readers, self._updates = flow.bit, flow.readers, flow.updates
        self._view_users, self._passes = flow.view_users, flow.passes
        self._effects_before, self._effects_behind = flow.effects_before, flow.effects_behind
        self._chosen = ChosenOrder(flow)
        self._made = {name: place for place, name in enumerate(graph.nodes)}
        self.versions: dict[tuple[str, str], int] = {}
        self.dependencies: list[ControlDependency] = []
        self.races: list[Race] = []

    def order_variable(self, variable: str) -> None:
        """Orders the updates of a variable, then each of its reads among them."""
        updates = self._ordered_updates(variable)
        for reader in self._readers.get(variable, ()):
            version = self._version_read(variable, updates, reader)
            self.versions[reader, variable] = version
            if self._graph.type(reader) in ENTERS and version < len(updates):
                self._hold_back(updates[version], reader)
        for name in reversed(self._passes.get(variable, ())):
            self._order_pass(variable, name)
        for user in self._view_users.get(variable, ()):
            self._keep_view(variable, updates, user)

    def _order_pass(self, variable: str, name: str) -> None:
        """Gives a node that hands a variable on, such as a RefSwitch, the version that is read behind it.

        A part of the graph that is cut out reads the variable where it enters the branch or loop. Of several versions,
        the first is taken.
        """
        users = [use.node for use in self._graph.users(name)]
        behind = [self.versions[user, variable] for user in users if (user, variable) in self.versions]
        if behind:
            self.versions[name, variable] = min(behind)

    def _keep_view(self, variable: str, updates: list[str], user: str) -> None:
        """Makes the updates of a variable wait for a node that uses a view of it, which an update would change.

        A view is of the variable as the op that made it read it: before the updates that no path leads from to there.
        """
        for update in updates:
            ordered = (self._effects_before[user] | self._effects_behind[user]) & self._bit[update]
            if user == update or ordered or exclude_each_other(self._graph, update, user):
                continue
            if not self._chosen.is_before(update, user):
                self._depend(user, update)
                self._note(Race(variable, user, update, user))
                if self._graph.type(user) in ENTERS:
                    self._hold_back(update, user)
                return  # later updates wait for this one

    def _ordered_updates(self, variable: str) -> list[str]:
        """The update ops of a variable, in the order in which they run.

        Of two that nothing orders, the one that more train ops run comes first (see `_may_wait`), then a rule or what
        depends on data: weights are clipped after their update; then the one that the program made first, unless they
        are in opposite branches.
        """
        updates = list(self._updates.get(variable, ()))
        if not any(exclude_each_other(self._graph, *pair) for pair in itertools.combinations(updates, 2)):
            updates.sort(key=self._made.__getitem__)
        unordered = not any(self._runs_before(first, second) for first in updates for second in updates)
        if self._choices.rules_first and set(updates) & self._state.rules:
            updates.sort(key=lambda name: name not in self._state.rules and name not in self._depends_on_data)
        if self._choices.reversed_updates and unordered:
            updates.reverse()
        updates.sort(key=lambda name: -sum(name in other for other in self._others))
        updates = self._chosen.sorted(updates)
        for first, second in zip(updates, updates[1:]):
            if not self._runs_before(first, second) and not exclude_each_other(self._graph, first, second):
                self._depend(first, second)
                self.races.append(Race(variable, first, second))
        return updates

    def _depend(self, before: str, after: str) -> None:
        """Adds a control dependency, which later decisions respect."""
        self.dependencies.append(ControlDependency(before, after))
        self._chosen.add(before, after)

    def _version_read(self, variable: str, updates: list[str], reader: str) -> int:
        """The number of updates that run before a node reads the variable.

        A node that reads before an update reads before all later ones, too, except those of the opposite branch.
        """
        count, missed = 0, None
        for number, update in enumerate(updates):
            if update == reader:
                return number
            if exclude_each_other(self._graph, update, reader):
                continue  # of two opposite branches, one runs
            if missed is not None and not exclude_each_other(self._graph, missed, update):
                continue
            if self._is_read_after(variable, updates, number, reader):
                count = number + 1
            else:
                missed = update
        return count

    def _is_read_after(self, variable: str, updates: list[str], index: int, reader: str) -> bool:
        """Whether a node reads the variable after update number `index`; decides it where the graph does not."""
        update = updates[index]
        if self._runs_before(update, reader):
            return True
        if self._effects_behind[reader] & self._bit[update]:
            return False
        after = self._chosen.is_before(update, reader)
        if not after and not self._chosen.is_before(reader, update):
            late = update != carrying_node(variable) and self._is_taken_after(updates, index, reader)
            after = late and self._may_wait(reader, update)
        before, behind = (update, reader) if after else (reader, update)
        self._depend(before, behind)
        is_race = after or self._graph.type(reader) not in op_types.HANDLE_PASSES
        if is_race and not self._reads_a_copy(variable, update, reader):
            self._note(Race(variable, before, behind, reader))
        return after

    def _note(self, race: Race) -> None:
        """Adds a race, unless of a carried state: what a program feeds has one value in the whole run."""
        if carrying_node(race.variable) not in race[1:]:
            self.races.append(race)

    def _reads_a_copy(self, variable: str, update: str, reader: str) -> bool:
        """Whether a node reads copies of a variable on another device, for which the old update waits."""
        copies = {copy_before(self._graph, tensor, variable) for tensor in self._graph.inputs(reader)} - {None}
        return bool(copies) and all(name and self._effects_behind[name] & self._bit[update] for name in copies)

    def _may_wait(self, name: str, update: str) -> bool:
        """Whether a control dependency may make a node wait for an update op.

        The old graph has one node for all train ops: in another one that runs the node it would run the update, too.
        """
        return all(update in other for other in self._others if name in other)

    def _is_taken_after(self, updates: list[str], index: int, reader: str) -> bool:
        """Whether a read that races with update number `index` is taken to come after it, by the choices."""
        if reader in self._choices.late_readers:
            return True
        return self._choices.averages_after and self._meant.is_after(updates, index, reader)

    def _hold_back(self, update: str, enter: str) -> None:
        """Makes an update wait for every loop that the variable enters by `enter`: inside, its memory is shared."""
        for name in sorted(self._graph.descendants([enter]) & self._members):
            ordered = (self._effects_before[name] | self._effects_behind[name]) & self._bit[update]
            if self._graph.type(name) in EXITS and not ordered:
                self._depend(name, update)

    def _runs_before(self, update: str, name: str) -> bool:
        """Whether a path of the graph leads from an update op to a node."""
        return bool(self._effects_before[name] & self._bit[update])
