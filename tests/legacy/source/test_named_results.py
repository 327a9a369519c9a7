"""Results of a tower by name, and how far two differ."""

import types

import numpy as np
import pytest

from legacy.source.named_results import LOSS, new_named, old_named, relative_difference
from legacy.source.step.statistics import Proposal


def tower(*proposals):
    phase = types.SimpleNamespace(early=[], losses=["loss:0"], other_losses=[], returns=[], crossings=[])
    return types.SimpleNamespace(proposals=list(proposals), phase=phase, number=0)


@pytest.mark.parametrize(("op", "after"), [("AssignSub", 3.0), ("AssignAdd", 5.0), ("Assign", 1.0)])
def test_a_statistic_is_named_after_its_change(op, after):
    made = tower(Proposal("mean", op, "value:0", "node"))
    named = old_named(made, ["w"], [np.float32(2), np.float32(8), np.float32(1)], {"mean": np.float32(4)})
    assert named == {LOSS: 2.0, "w": 8.0, "mean": after}


def test_gradients_are_scaled_and_second_changes_are_numbered():
    changes = [("mean", np.float32(1)), ("mean", np.float32(3))]
    named = new_named(tower(), ["w"], [np.float32(2), np.float32(8)], changes, 0.5)
    assert named == {LOSS: 2.0, "w": 4.0, "mean": 1.0, "mean (change 2)": 3.0}


def test_differences_are_relative_to_the_largest_entry():
    assert relative_difference(np.array([8.0, 1.0]), np.array([8.0, 2.0])) == 0.125
    assert relative_difference(np.zeros(2), np.zeros(3)) == float("inf")
