import numpy as np
import pytest

from parity.diagnosis.stage_checks.statistics_check import check_statistics
from tests.parity.diagnosis.stage_checks.sides import EPS, side
from workloads.numerics.statistics import FIRST_TOWER, LAST_TOWER, MEAN_OF_TOWERS, TOWERS_IN_TURN

PROPOSALS = [{"m": [1.0, 2.0]}, {"m": [3.0, 6.0]}]


def checked(kept, policy=FIRST_TOWER):
    taken = side({"statistics": {"m": [0.0, 8.0]}}, {"statistics": {"m": kept}}, proposals=PROPOSALS)
    (error,) = check_statistics(taken, policy, EPS)
    return error


def test_the_policy_says_what_is_kept():
    assert not checked([1.0, 2.0]).off
    assert not checked([2.0, 4.0], MEAN_OF_TOWERS).off
    assert not checked([3.0, 6.0], LAST_TOWER).off and checked([1.0, 2.0], LAST_TOWER).off


def test_towers_in_turn_are_not_judged_by_what_each_proposes_alone():
    taken = side({"statistics": {"m": [0.0, 8.0]}}, {"statistics": {"m": [5.0, 5.0]}}, proposals=PROPOSALS)
    assert check_statistics(taken, TOWERS_IN_TURN, EPS) == []


@pytest.mark.parametrize(
    "kept, fact",
    [
        ([3.0, 6.0], "is what replica 1 proposes"),
        ([2.0, 4.0], "is the mean of what the replicas propose"),
        ([0.0, 8.0], "does not change"),
        ([np.nan, 8.0], "values that are not finite"),
        ([0.5, 5.0], "moves 0.5 x as far as replica 0 proposes, residual 0.0e+00"),
    ],
)
def test_what_is_kept_instead_is_said(kept, fact):
    error = checked(kept)
    assert error.off and error.fact == fact


def test_a_statistic_that_nobody_proposes_is_not_checked():
    assert check_statistics(side({}, {"statistics": {"other": [1.0]}}, proposals=PROPOSALS), FIRST_TOWER, EPS) == []
