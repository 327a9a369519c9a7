import numpy as np
import pytest

from parity.diagnosis.stage_checks.forward_check import check_forward
from parity.diagnosis.stage_checks.side_step import pair_steps
from tests.parity.diagnosis.stage_checks.sides import EPS, side

W = {"weights": {"w": [1.0, 2.0]}}


def forward(left, right, before=None, other=None):
    return check_forward(pair_steps(side(before or W, W, **left), side(other or before or W, W, **right)), EPS)


def off(*args, **kwargs):
    return {error.name: error.fact for error in forward(*args, **kwargs).errors if error.off}


@pytest.mark.parametrize("error, found", [(2.0**-17, False), (2.0**-16, True)])  # 64 and 128 roundings
def test_losses_and_gradients_agree_to_a_hundred_roundings(error, found):
    assert bool(off({"losses": [1.0]}, {"losses": [1 + error]})) == found
    assert bool(off({"gradients": [{"w": [1.0]}]}, {"gradients": [{"w": [1 + error]}]})) == found


def test_each_tensor_is_judged_by_itself():
    left = {"gradients": [{"big": [1.0, 1.0], "small": [2.0**-8, 2.0**-8]}]}
    right = {"gradients": [{"big": [1.0, 1.0], "small": [2.0**-7, 2.0**-7]}]}
    assert off(left, right) == {"small": "2 x legacy's, residual 0.0e+00"}


def test_a_gradient_that_is_pure_rounding_is_said_to_be_so_and_not_used():
    left = {"gradients": [{"kernel": [1.0, 1.0], "bias": [1e-8, -1e-8]}]}
    right = {"gradients": [{"kernel": [1.0, 1.0], "bias": [-2e-8, 1e-8]}]}
    result = forward(left, right)
    assert result.pure_rounding == ["bias"]
    assert [error.name for error in result.errors] == ["kernel"]
    right["gradients"][0]["bias"] = [1e-3, 0.0]
    assert list(off(left, right)) == ["bias"]


def test_a_factor_of_all_tensors_is_no_noise():
    left = {"gradients": [{name: [1.0, 3.0, name == "c"] for name in "abc"}]}
    right = {"gradients": [{name: [1.0005, 3.0015, 1.0005 * (name == "c")] for name in "abc"}]}
    assert sorted(off(left, right)) == ["a", "b", "c"]


def test_values_that_are_not_finite_are_off_on_the_right_and_not_judged_on_the_left():
    good, bad = {"gradients": [{"w": [1.0]}], "losses": [1.0]}, {"gradients": [{"w": [np.nan]}], "losses": [np.inf]}
    assert off(good, bad) == {"replica 0": "inf against 1", "w": "values that are not finite"}
    assert forward(bad, good).errors == []


def test_what_is_not_finite_is_off_however_far_the_weights_are_apart():
    good, bad = {"gradients": [{"w": [1.0]}], "losses": [1.0]}, {"gradients": [{"w": [np.nan]}], "losses": [np.inf]}
    far = {"weights": {"w": [1.0, 2.1]}}
    assert sorted(off(good, bad, W, far)) == ["replica 0", "w"]
    assert off(bad, bad, W, far) == {}
    assert off(good, bad, W, {"weights": {"w": [np.nan, 2.0]}}) == {}  # the weights were broken before


def test_noise_of_every_tensor_is_no_rounding():
    noise = np.random.RandomState(0).standard_normal((3, 100))
    values = np.random.RandomState(1).standard_normal((3, 100))
    left = {"gradients": [dict(zip("abc", values))]}
    for size, found in ((1e-6, []), (1e-4, ["a", "b", "c"])):
        right = {"gradients": [dict(zip("abc", values * (1 + size * noise)))]}
        assert sorted(off(left, right)) == found


def test_a_distance_of_the_weights_widens_the_bound():
    left, right = {"gradients": [{"w": [1.0]}]}, {"gradients": [{"w": [1 + 1e-3]}]}
    assert off(left, right, W, {"weights": {"w": [1.0, 2.0 * (1 + 1e-7)]}})
    assert not off(left, right, W, {"weights": {"w": [1.0, 2.0 * (1 + 1e-5)]}})
    assert forward(left, right, W, {"weights": {"w": [1.0, 2.1]}}).errors == []  # too far apart to judge


def test_proposals_are_compared_where_the_statistics_were_equal():
    before = {**W, "statistics": {"m": [0.0, 4.0]}}
    left, right = {"proposals": [{"m": [1.0, 2.0]}]}, {"proposals": [{"m": [0.5, 3.0]}]}
    (fact,) = off(left, right, before).values()
    assert fact.startswith("moves 0.5 x as far as legacy's")
    assert forward(left, right, before, {**W, "statistics": {"m": [1.0, 4.0]}}).errors == []
