"""Reductions recognised from numbers: multiples of a sum or of a concatenation, and their tolerances."""

import numpy as np
import pytest

from legacy.saved.analysis.reduction.reduction import Reduction, reduction_of_values, sum_of


def test_arrays_are_added_in_their_order():
    assert sum_of([np.array([1e16]), np.array([1.0]), np.array([-1e16])]).tolist() == [0.0]  # and not 1.0


@pytest.mark.parametrize("error, kind", [(4e-6, "mean"), (2e-5, "sum")])
def test_the_tolerance_of_a_mean(error, kind):
    """The result is (1 + error) / 2 times the sum, so that N times the scale is off 1 by the error."""
    towers = [np.array([1.0, 2.0]), np.array([3.0, 6.0])]
    found = reduction_of_values((1 + error) / 2 * (towers[0] + towers[1]), towers, False)
    assert found.kind == kind


@pytest.mark.parametrize("error, recognised_as", [(1e-6, Reduction("sum", 1.0, True)), (1e-4, None)])
def test_the_tolerance_of_rounding_errors(error, recognised_as):
    towers = [np.array([1.0, 2.0]), np.array([3.0, 6.0])]
    result = towers[0] + towers[1] + np.array([8.0 * error, 0.0])
    found = reduction_of_values(result, towers, True)
    assert found is None if recognised_as is None else (found.kind, found.affine) == ("sum", True)


def test_the_mean_of_one_tower_is_its_sum():
    assert reduction_of_values(np.array([4.0]), [np.array([4.0])], False) == Reduction("sum", 1.0, False)


def test_scalars_are_not_concatenated():
    assert reduction_of_values(np.array([1.0, 2.0]), [np.array(1.0), np.array(2.0)], False) is None


@pytest.mark.parametrize("towers", [[[0.0, 0.0], [0.0, 0.0]], [[1.0, -2.0], [-1.0, 2.0]]])
def test_nothing_is_a_multiple_of_zero(towers):
    assert reduction_of_values(np.array([1.0, 2.0]), [np.array(tower) for tower in towers], True) is None
