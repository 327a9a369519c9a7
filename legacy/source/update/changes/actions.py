"""Actions of an update, its changes of variables and the predicates of its `cond`s, and the order that they need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, FrozenSet, List, NamedTuple, Optional, Sequence, Set, Tuple

from legacy.source.basics.cut import cut_part, variable_of
from legacy.source.basics.unwritten import Unwritten
from workloads.lifted.pieces.piece import Fetch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from legacy.source.basics.expressions import Expression
    from workloads.lifted.graph import Graph
    from workloads.lifted.pieces.piece import VariableVersion
    from workloads.lifted.plan import Condition, Effect, Phase, Plan


class Action(NamedTuple):
    """A change of variables, or the computation of a predicate.

    Attributes:
      name: unique; of a change, its node.
      path: the branches that it is in, the outermost first.
      reads: (variable, changes before the read) of what it reads after the step has changed it; of the changes, those
        in branches that exclude its own do not count.
      effect: the change, or None.
      predicate: the tensor, or "".
    """

    name: str
    path: Tuple[Condition, ...]
    reads: FrozenSet[Tuple[str, int]]
    effect: Optional[Effect] = None
    predicate: str = ""


class Order(NamedTuple):
    """The actions before each action.

    Attributes:
      strict: {action: actions that are done when it is computed}.
      weak: {action: changes of the same variable before it}, which may be made after its arguments are computed.
    """

    strict: Dict[str, Set[str]]
    weak: Dict[str, Set[str]]


def exclude_each_other(first: Sequence[Condition], second: Sequence[Condition]) -> bool:
    """Returns whether two paths have opposite branches of a `cond`.

    >>> from workloads.lifted.plan import Condition
    >>> exclude_each_other([Condition("p:0", True)], [Condition("p:0", False)]), exclude_each_other([], [])
    (True, False)
    """
    values = dict(first)
    return any(values.get(predicate, branch) != branch for predicate, branch in second)


def actions_of(
    plan: Plan,
    graph: Graph,
    phase: Phase,
    effects: Sequence[Effect],
    cuts: Sequence[str],
    made: Mapping[str, int],
    between: Mapping[VariableVersion, Expression],
) -> List[Action]:
    """Finds the actions of an update.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.
      effects: its changes, in order.
      cuts: tensors that are given.
      made: {variable: number of its changes} of those that are changed before the first action.
      between: {version of a variable: expression} of what they held between these changes, where the text keeps it.

    Returns:
      The changes in order, each after the predicates of its branches.

    Raises:
      Unwritten: an action reads a variable at two moments within the step, or between changes that are made before.
    """

    def reads(name: str, path: Sequence[Condition], fetches: Sequence[str | Fetch]) -> FrozenSet[Tuple[str, int]]:
        found: Dict[str, int] = {}
        for feed in cut_part(plan, graph, fetches, cuts, phase.versions, path).piece.feeds:
            read = variable_of(feed)
            if read is None or not read.version or read.version == made.get(read.variable) or read in between:
                continue
            if read.variable in made:
                raise Unwritten(f"updates: {name!r} reads {read.variable!r} between two of its changes")
            changes = [effect for effect in phase.effects if read.variable in effect.writes][: read.version]
            version = sum(not exclude_each_other(change.conditions, path) for change in changes)
            if version and found.setdefault(read.variable, version) != version:
                raise Unwritten(f"updates: {name!r} reads {read.variable!r} before and after one of its changes")
        return frozenset(found.items())

    found: Dict[str, Action] = {}
    for effect in effects:
        for depth, condition in enumerate(effect.conditions):
            path, predicate = effect.conditions[:depth], condition.predicate
            name = " in ".join([predicate, *(f"{outer}={branch}" for outer, branch in reversed(path))])
            if name not in found:
                found[name] = Action(name, path, reads(name, path, [predicate]), predicate=predicate)
        path, fetches = effect.conditions, [Fetch(value, effect.node) for value in effect.values]
        found[effect.node] = Action(effect.node, path, reads(effect.node, path, fetches), effect)
    return list(found.values())


def order_of(actions: Sequence[Action]) -> Order:
    """Returns the order that actions need for each of them to read what it reads in the old graph.

    Args:
      actions: the changes in order, and the predicates.

    Returns:
      The order. Values of before the step are at hand at any time, so that reads of them need none.
    """
    order = Order({action.name: set() for action in actions}, {action.name: set() for action in actions})
    changes = [action for action in actions if action.effect is not None]
    for action in actions:
        if action.predicate:
            for other in actions:
                inside = other.path[: len(action.path)] == action.path and len(other.path) > len(action.path)
                if inside and other.path[len(action.path)].predicate == action.predicate:
                    order.strict[other.name].add(action.name)
        for variable, version in action.reads:
            for number, change in enumerate(_changes_of(variable, changes, action.path)):
                if number < version:
                    order.strict[action.name].add(change.name)
                elif change.name != action.name:
                    order.strict[change.name].add(action.name)
        for variable in action.effect.writes if action.effect else ():
            own = [change.name for change in _changes_of(variable, changes, action.path)]
            order.weak[action.name].update(own[: own.index(action.name)])
    return order


def _changes_of(variable: str, changes: Sequence[Action], path: Sequence[Condition]) -> List[Action]:
    """Returns the changes of a variable, in order, but those in branches that exclude a path."""
    own = [one for one in changes if one.effect is not None and variable in one.effect.writes]
    return [one for one in own if not exclude_each_other(one.path, path)]
