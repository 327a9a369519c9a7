import numpy as np

from parity.diagnosis.stage_checks.side_step import pair_steps, weights_gap
from tests.parity.diagnosis.stage_checks.sides import side


def test_the_gap_is_the_largest_relative_distance():
    left = {"a": np.array([3.0, 4.0]), "b": np.array([8.0])}
    assert weights_gap(left, {"a": np.array([3.0, 4.5]), "b": np.array([8.0])}) == 0.1
    assert weights_gap(left, left) == 0.0
    assert weights_gap(left, {"c": np.array([1.0])}) == 0.0


def test_a_zero_weight_is_measured_by_the_others():
    left, right = {"a": np.array([3.0, 3.0, 3.0]), "b": np.zeros(1)}, {"a": np.full(3, 3.0), "b": np.array([2.0**-20])}
    assert 0 < weights_gap(left, right) < 1e-5
    assert weights_gap({"b": np.zeros(1)}, {"b": np.ones(1)}) == float("inf")
    assert weights_gap({"b": np.ones(1)}, {"b": np.array([np.nan])}) == float("inf")


def test_a_pair_knows_how_far_its_states_are_apart():
    left, right = ({"weights": {"w": [value]}} for value in (2.0, 3.0))
    assert pair_steps(side(left, left), side(right, right)).state_gap == 0.5
