import numpy as np
import pytest

from parity.diagnosis.stage_checks.tensor_error import TensorError, elements_error, norm_error

ONE, TWO = np.ones(2), np.full(2, 2.0)


def test_the_worst_element_counts_in_its_own_roundings():
    assert elements_error(np.array([1.5, 2.0]), ONE, np.array([0.5, 0.25])) == 4.0
    assert elements_error(ONE, ONE, np.zeros(2)) == 0.0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_value_that_is_not_finite_on_one_side_is_infinitely_far(bad):
    assert elements_error(np.array([bad, 1.0]), ONE, ONE) == float("inf")
    assert elements_error(ONE, np.array([bad, 1.0]), ONE) == float("inf")
    assert norm_error(np.array([bad, 1.0]), ONE, 1.0, 0.5) == float("inf")


def test_values_that_are_not_finite_on_both_sides_are_left_out():
    both = np.array([np.nan, 2.0])
    assert elements_error(both, np.array([np.inf, 1.0]), ONE) == 1.0
    assert elements_error(np.array([np.nan]), np.array([np.nan]), np.ones(1)) == 0.0
    assert norm_error(both, np.array([np.nan, 1.0]), 2.0, 0.5) == 1.0


def test_a_distance_is_measured_in_roundings_of_a_length():
    assert norm_error(np.array([4.0, 5.0]), np.array([1.0, 1.0]), 10.0, 0.5) == 1.0
    assert norm_error(ONE, ONE, 0.0, 0.5) == 0.0
    assert norm_error(TWO, ONE, 0.0, 0.5) == float("inf")
    assert norm_error(TWO, ONE, float("nan"), 0.5) == float("inf")


@pytest.mark.parametrize("roundings, off", [(2.0, False), (2.1, True), (float("inf"), True), (float("nan"), True)])
def test_an_error_beyond_its_bound_is_off_and_so_is_no_number(roundings, off):
    assert TensorError("weights", "w", 0, roundings, 2.0).off == off
