import numpy as np
import pytest

from parity.comparison import stages
from parity.diagnosis.stage_checks.plain_check import check_initial_state, check_learning_rate, check_without_rule
from parity.diagnosis.stage_checks.side_step import pair_steps
from tests.parity.diagnosis.stage_checks.sides import EPS, side
from tests.parity.step_records import made_up_state

W = {"weights": {"w": [1.0, 2.0]}}


def test_initial_values_are_compared_one_by_one():
    left = made_up_state({"w": [1.0]}, {"w/m": [1.0]})
    right = made_up_state({"w": [1.0 + EPS]}, {"w/m": [2.0]})
    found = check_initial_state(left, right, EPS)
    assert [(error.name, error.off) for error in found] == [("w", False), ("w/m (slots)", True)]
    assert found[1].fact == "2 x legacy's, residual 0.0e+00"


@pytest.mark.parametrize(
    "rate, off", [(0.5, False), (0.5 * (1 + 1e-7), False), (0.5 * (1 + 1e-5), True), (np.nan, True)]
)
def test_learning_rates_agree_to_a_few_roundings(rate, off):
    (error,) = check_learning_rate(side(W, W), side(W, W, learning_rate=rate))
    assert error.off == off
    assert check_learning_rate(side(W, W), side(W, W, learning_rate=None)) == []


def weights_after(change, combined=1.0):
    new = {"weights": {"w": [1.0 + change, 2.0]}}
    return side(W, new, combined={"w": [combined, 0.0]})


@pytest.mark.parametrize("change, off", [(0.5, False), (0.5 * (1 + 2.0**-19), False), (0.51, True), (np.nan, True)])
def test_without_a_rule_equal_inputs_give_equal_changes(change, off):
    (error,) = check_without_rule(pair_steps(weights_after(0.5), weights_after(change)), stages.WEIGHTS, EPS)
    assert error.off == off


def test_inputs_too_far_apart_are_not_judged():
    assert check_without_rule(pair_steps(weights_after(0.5), weights_after(0.7, 1.5)), stages.WEIGHTS, EPS) == []
    left, right = side(W, W, combined={"w": [1.0]}), side({"weights": {"w": [1.0, 3.0]}}, W, combined={"w": [2.0]})
    assert check_without_rule(pair_steps(left, right), stages.COMBINED, EPS) == []


def test_the_other_stages_have_inputs_of_their_own():
    before = {**W, "statistics": {"m": [1.0]}, "averages": {"w": [0.0, 0.0]}}
    left = side(before, {**W, "statistics": {"m": [2.0]}, "averages": {"w": [0.5, 1.0]}}, proposals=[{"m": [2.0]}])
    right = side(before, {**W, "statistics": {"m": [3.0]}, "averages": {"w": [0.25, 0.5]}}, proposals=[{"m": [2.0]}])
    for stage in (stages.STATISTICS, stages.AVERAGES):
        (error,) = check_without_rule(pair_steps(left, right), stage, EPS)
        assert error.off and not check_without_rule(pair_steps(left, left), stage, EPS)[0].off
    both = [{"w": [1.0]}], [{"w": [3.0]}]
    left, right = (side(W, W, gradients=both[0] * 2, combined={"w": [value]}) for value in (1.0, 2.0))
    (error,) = check_without_rule(pair_steps(left, right), stages.COMBINED, EPS)
    assert error.fact == "changes by 2 x legacy's change, residual 0.0e+00"
