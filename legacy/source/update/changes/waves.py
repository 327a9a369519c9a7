"""Steps of an update, in order: waves of changes that read only what the steps before have changed, and branches."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Dict, List, NamedTuple, Sequence, Union

from legacy.source.basics.unwritten import Unwritten
from legacy.source.update.changes.actions import Action, Order, order_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workloads.lifted.plan import Effect, Variable


class Unit(NamedTuple):
    """The changes of one weight and its slots in one wave, or of one other variable.

    Attributes:
      owner: the weight, or the variable.
      effects: in order.
    """

    owner: str
    effects: List[Effect]


class Wave(NamedTuple):
    """Changes whose arguments are computed before the first of them.

    Attributes:
      units: the changes.
    """

    units: List[Unit]


class Branches(NamedTuple):
    """The branches of a `cond` that change variables.

    Attributes:
      predicate: tensor that decides.
      when_true: steps of the branch that is run where the predicate is true.
      when_false: steps of the other one.
    """

    predicate: str
    when_true: List[Union[Wave, Branches]]
    when_false: List[Union[Wave, Branches]]


#: A step of an update.
Step = Union[Wave, Branches]


def effects_of(steps: Sequence[Step]) -> List[Effect]:
    """Returns the changes of some steps, in order, those in branches included."""
    found: List[Effect] = []
    for step in steps:
        if isinstance(step, Branches):
            found += effects_of(step.when_true) + effects_of(step.when_false)
        else:
            found += [effect for unit in step.units for effect in unit.effects]
    return found


def steps_of(actions: Sequence[Action], variables: Sequence[Variable]) -> List[Step]:
    """Divides an update into steps.

    Args:
      actions: of the update, in order.
      variables: all that the update may change.

    Returns:
      The steps, in order.

    Raises:
      Unwritten: a change reads what can be read neither before nor after a step.
    """
    owners = {variable.name: variable.of or variable.name for variable in variables}
    return _steps(actions, 0, order_of(actions), owners)


def _steps(actions: Sequence[Action], depth: int, order: Order, owners: Mapping[str, str]) -> List[Step]:
    """Returns the steps of the actions in one branch; `depth` is the number of branches that they all are in."""
    steps: List[Step] = []
    waiting = list(actions)
    while waiting:
        wave = _ready(waiting, [one for one in waiting if one.effect and len(one.path) == depth], order, weak=True)
        if wave:
            steps.append(Wave(_units([one.effect for one in wave if one.effect], owners)))
            waiting = [one for one in waiting if one not in wave]
            continue
        predicate, ready = _ready_branches(waiting, depth, order)
        inside = {
            value: [one for one in ready if len(one.path) > depth and one.path[depth].branch == value]
            for value in (True, False)
        }
        branches = [_steps(inside[value], depth + 1, order, owners) for value in (True, False)]
        steps.append(Branches(predicate, *branches))
        waiting = [one for one in waiting if one not in ready]
    return steps


def _ready(waiting: Sequence[Action], wanted: Sequence[Action], order: Order, weak: bool = False) -> List[Action]:
    """Returns those of the wanted actions that can be next.

    Args:
      waiting: all that are left.
      wanted: some of them, in order.
      order: of all.
      weak: whether they are one wave, in which only the order of changes of one variable is kept.

    Returns:
      The actions.
    """
    found: List[Action] = []
    left = {one.name for one in waiting}
    while True:
        taken = {one.name for one in found}
        blocked = left if weak else left - taken
        more: List[Action] = []
        for one in wanted:
            earlier = left - taken - {other.name for other in more}
            if one not in found and not order.strict[one.name] & blocked and not order.weak[one.name] & earlier:
                more.append(one)
        if not more:
            return found
        found += more


def _ready_branches(waiting: Sequence[Action], depth: int, order: Order) -> tuple[str, List[Action]]:
    """Returns the predicate of a `cond` that can be next, and what is done in it: all that waits for it, if possible.

    Raises:
      Unwritten: there is none, or only a part of one whose predicate depends on what the step changes.
    """
    blocks: Dict[str, List[Action]] = collections.OrderedDict()
    for one in waiting:
        if one.predicate and len(one.path) == depth:
            blocks.setdefault(one.predicate, []).append(one)
        elif len(one.path) > depth:
            blocks.setdefault(one.path[depth].predicate, []).append(one)
    ready = {predicate: _ready(waiting, block, order) for predicate, block in blocks.items()}
    whole = [predicate for predicate, block in blocks.items() if len(ready[predicate]) == len(block)]
    if whole:
        return whole[0], ready[whole[0]]
    left = ", ".join(one.name for one in waiting[:3])
    raise Unwritten(f"updates: changes in branches depend on each other's results by turns ({left})")


def _units(effects: Sequence[Effect], owners: Mapping[str, str]) -> List[Unit]:
    found: Dict[str, List[Effect]] = collections.OrderedDict()
    for effect in effects:
        found.setdefault(owners.get(effect.writes[0], effect.writes[0]), []).append(effect)
    return [Unit(owner, own) for owner, own in found.items()]
