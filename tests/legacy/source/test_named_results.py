"""Results of a tower by name, and how far two differ."""

import types

import numpy as np
import pytest

from legacy.source.named_results import LOSS, differences, new_named, old_named, relative_difference, with_differences
from legacy.source.step.statistics import Proposal


def tower(*proposals):
    phase = types.SimpleNamespace(early=[], losses=["loss:0"], other_losses=[], returns=[], crossings=[])
    return types.SimpleNamespace(proposals=list(proposals), phase=phase, number=0)


@pytest.mark.parametrize(("op", "after"), [("AssignSub", 3.0), ("AssignAdd", 5.0), ("Assign", 1.0)])
def test_a_statistic_is_named_after_its_change(op, after):
    made = tower(Proposal("mean", op, "value:0", "node"))
    named = old_named(made, ["w"], [np.float32(2), np.float32(8), np.float32(1)], {"mean": np.float32(4)})
    assert named == {LOSS: 2.0, "w": 8.0, "mean": after}


def test_second_changes_are_numbered():
    changes = [("mean", np.float32(1)), ("mean", np.float32(3))]
    named = new_named(tower(), ["w"], [np.float32(2), np.float32(8)], changes)
    assert named == {LOSS: 2.0, "w": 8.0, "mean": 1.0, "mean (change 2)": 3.0}


def test_differences_are_relative_to_the_largest_entry():
    assert relative_difference(np.array([8.0, 1.0]), np.array([8.0, 2.0])) == 0.125
    assert relative_difference(np.zeros(2), np.zeros(3)) == float("inf")


def test_numbers_beside_infinite_ones_are_compared_and_other_infinite_ones_differ_in_any_case():
    assert relative_difference(np.array([8.0, np.inf]), np.array([6.0, np.inf])) == 0.25
    assert relative_difference(np.array([8.0, np.inf]), np.array([8.0, -np.inf])) == float("inf")
    assert relative_difference(np.array([8.0, 1.0]), np.array([8.0, np.nan])) == float("inf")


@pytest.mark.parametrize(
    ("before", "is_larger", "found"),
    [
        ({}, True, {"w": 0.5}),  # only larger weights show it
        ({"w": 1e-7}, True, {"w": 1e-7}),  # a rounding that larger weights make more of
        ({"b": 1e-7}, True, {"b": 1e-7, "w": 0.0}),
        ({"w": 1e-7}, False, {"w": 0.5}),
    ],
)
def test_larger_weights_make_no_other_program_of_one_that_rounds_in_another_way(before, is_larger, found):
    assert with_differences(before, {"w": 0.5}, {"w": np.ones(2)}, is_larger) == found
    infinite = with_differences(before, {"w": float("inf")}, {"w": np.array([1.0, np.inf])}, is_larger)
    assert infinite == (before if is_larger else {**before, "w": float("inf")})


@pytest.mark.parametrize(
    ("one", "two", "difference"),
    [
        ([1e-6], [-1e-6], 0.0),  # both are what rounding leaves of zero, as of a bias in front of a normalization
        ([1e-6], [0.0], 1.0),
        ([1e-6], [1e-3], 999.0),
        ([1e-3], [-1e-3], 2.0),
        ([[1e-6]], [[-1e-6]], 2.0),
    ],
)
def test_gradients_of_biases_that_are_zero_but_for_rounding_are_alike(one, two, difference):
    expected = {"w": np.float32([4.0]), "b": np.float32(one), "mean": np.float32(one)}
    found = {"w": np.float32([4.0]), "b": np.float32(two), "mean": np.float32(two)}
    measured = differences(expected, found, ["w", "b"])
    assert measured["b"] == pytest.approx(difference, rel=1e-5) and measured["mean"] > 0.0 and "w" not in measured
