"""Statistics that all towers change in turn are compared at the old number of towers only."""

import dataclasses

import pytest

from parity.against.changes_in_turn import require_one_change_each
from tests.small_lift import small_plan
from workloads.lifted.plan import Effect, Variable
from workloads.support.errors import InputError


def plan_with_changes(count):
    """The plan of `small_lift` with a statistic that `count` ops change."""
    plan = small_plan()
    moved = [Effect(f"move{number}", "AssignSub", ["mean"], ["x:0"]) for number in range(count)]
    phase = dataclasses.replace(plan.phases[0], effects=[*plan.phases[0].effects, *moved])
    mean = dataclasses.replace(plan.variables[0], name="mean", role="statistic")
    assert isinstance(mean, Variable)
    return dataclasses.replace(plan, phases=[phase], variables=[*plan.variables, mean])


def test_one_change_is_compared_at_any_number():
    plan = plan_with_changes(1)
    assert plan.changed_in_turn == []
    require_one_change_each(plan, 4)


def test_changes_of_each_tower_are_compared_at_their_number():
    require_one_change_each(plan_with_changes(2), 2)
    with pytest.raises(InputError, match="--replicas: got 4, each tower changes .'mean'. in turn: only --replicas=2"):
        require_one_change_each(plan_with_changes(2), 4)
