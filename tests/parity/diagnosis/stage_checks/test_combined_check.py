import numpy as np
import pytest

from parity.diagnosis.candidates.combined_forms import CombinedForm
from parity.diagnosis.stage_checks.combined_check import check_combined
from tests.parity.diagnosis.stage_checks.sides import EPS, side

GRADIENTS = [{"w": [3.0, 0.0, 0.0]}, {"w": [5.0, 8.0, 0.0]}]
MEAN = CombinedForm("mean")


def checked(combined, form=MEAN, gradients=GRADIENTS):
    (error,) = check_combined(side({}, {}, gradients=gradients, combined={"w": combined}), form, EPS)
    return error


def test_the_stated_form_is_right_and_another_is_off():
    assert checked([4.0, 4.0, 0.0]).roundings == 0.0
    assert checked([8.0, 8.0, 0.0], CombinedForm("sum")).roundings == 0.0
    error = checked([8.0, 8.0, 0.0])
    assert error.off and error.fact == "1, 1 x the replicas' gradients, residual 0.0e+00"


@pytest.mark.parametrize("roundings, off", [(2.0, False), (20.0, True)])
def test_a_few_roundings_of_the_sum_are_no_fault(roundings, off):
    assert checked([4.0 * (1 + roundings * EPS), 4.0, 0.0]).off == off


def test_clipping_is_part_of_the_form():
    form = CombinedForm("mean", "combined", "global_norm", 2.0 * np.sqrt(2.0))
    assert not checked([2.0, 2.0, 0.0], form).off
    assert checked([4.0, 4.0, 0.0], form).off


def test_values_that_are_not_finite_are_off():
    assert checked([np.nan, 4.0, 0.0]).fact == "values that are not finite"


def test_nothing_is_checked_without_replica_gradients_or_a_whole_norm():
    assert check_combined(side({}, {}, combined={"w": [1.0]}), MEAN, EPS) == []
    form = CombinedForm("mean", "combined", "global_norm", 1.0)
    gradients = [{"w": [1.0], "other": [1.0]}]
    assert check_combined(side({}, {}, gradients=gradients, combined={"w": [1.0]}), form, EPS) == []


@pytest.mark.parametrize("roundings, off", [(2.0, False), (30.0, True)])
def test_a_few_roundings_of_the_norm_are_no_fault(roundings, off):
    form = CombinedForm("mean", "combined", "global_norm", 2.0 * np.sqrt(2.0))
    factor = 1 + roundings * EPS
    assert checked([2.0 * factor, 2.0 * factor, 0.0], form).off == off


def test_the_norm_of_a_large_tensor_loses_more_roundings():
    form, length = CombinedForm("mean", "combined", "global_norm", 512.0), 2**20
    gradients = [{"w": np.ones(length, np.float32)}]
    for roundings, off in [(30.0, False), (200.0, True)]:
        combined = {"w": np.full(length, 0.5 * (1 + roundings * EPS), np.float32)}
        (error,) = check_combined(side({}, {}, gradients=gradients, combined=combined), form, EPS)
        assert error.off == off
