"""Lifts whose losses are written functions."""

import pytest

from tests.small_lift import small_lift
from workloads.lifted.workload import lift_with_losses
from workloads.support.errors import InputError


def test_a_lift_takes_the_losses_of_its_train_ops(tmp_path):
    lift = small_lift(str(tmp_path / "lift"))
    (phase,) = lift.plan.phases
    made = lift_with_losses(tmp_path / "lift", {phase.train_op: max})
    assert made.losses == {phase.train_op: max} and made == lift and lift.losses == {}


def test_what_is_no_lift_and_no_train_op_is_refused(tmp_path):
    with pytest.raises(InputError, match="lift_with_losses: got .*, must be a folder that legacy.lift wrote"):
        lift_with_losses(tmp_path, {})
    small_lift(str(tmp_path / "lift"))
    for losses in ({}, {"other": max}):
        with pytest.raises(InputError, match="lift_with_losses: losses: got .*, must be of the lift's train ops: "):
            lift_with_losses(tmp_path / "lift", losses)
