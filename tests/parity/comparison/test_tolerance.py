"""Tolerances: units, their growth, and the limits of kinks and factors on both sides."""

import numpy as np
import pytest

from parity.comparison import stages, tolerance
from tests.parity.step_records import step_record
from workloads import optimizers

EPSILON = 2.0**-23


def test_every_stage_has_a_tolerance_and_a_reason():
    for stage in stages.STAGES:
        assert tolerance.exact(stage, np.float32, 2, 0) == 0
        assert len(tolerance.reason(stage)) > 20
        assert tolerance.auto(stage, np.float64, 2, 0) <= tolerance.auto(stage, np.float32, 2, 0) < 1e-4
    assert set(tolerance.TOLERANCES) == set(tolerance.NAMES)


def test_auto_grows_with_the_root_of_the_replicas_and_with_the_steps():
    one = tolerance.auto(stages.GRADIENTS, np.dtype("float32"), 1, 0)
    assert one == 64 * EPSILON
    assert tolerance.auto(stages.GRADIENTS, np.dtype("float32"), 4, 0) == 2 * one
    assert tolerance.auto(stages.GRADIENTS, np.dtype("float32"), 1, 3) == 4 * one


def test_keras_needs_more_units_for_adam_only():
    units = tolerance.keras_units(optimizers.Adam(beta2=0.75), "keras")
    assert units == {stages.WEIGHTS: 4.0, stages.AVERAGES: 4.0}
    assert tolerance.keras_units(optimizers.Adam(), "tf1") == {}
    assert tolerance.keras_units(optimizers.Momentum(), "keras") == {}


def with_combined(factor):
    return step_record(combined={"w": [3.0 * factor, 4.0 * factor]})


@pytest.mark.parametrize(
    "first_stage, factor, expected",
    [
        (stages.GRADIENTS, 1.04, True),
        (stages.GRADIENTS, 1.06, False),
        (stages.GRADIENTS, np.nan, False),
        (stages.LOSS, 1.0, False),
    ],
)
def test_a_kink_is_small_and_begins_with_the_gradients(first_stage, factor, expected):
    assert tolerance.is_kink(first_stage, with_combined(1.0), with_combined(factor)) is expected


def test_one_step_in_five_may_have_a_kink():
    assert [tolerance.kinks_allowed(steps) for steps in (1, 9, 10, 100)] == [1, 1, 2, 20]


def test_a_common_factor_is_limited_by_units_or_by_the_distance_from_the_truth():
    assert tolerance.factor("float32", 4, 0.0) == 32 * EPSILON
    assert tolerance.factor("float32", 4, 0.25) == 2.0
