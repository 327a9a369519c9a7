"""Tolerances: units and their growth, in both precisions, and the limits of factors on both sides."""

import numpy as np

from parity.comparison import stages
from parity.comparison.judging import tolerance
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


def test_keras_needs_units_of_its_float32_constants_and_more_of_them_for_adam():
    units = tolerance.keras_units(optimizers.Adam(beta2=0.75), "keras")
    assert units == {stages.WEIGHTS: 4.0, stages.SLOTS: 4.0, stages.AVERAGES: 4.0}
    assert tolerance.keras_units(optimizers.Adam(beta2=1 - 2.0**-10), "keras")[stages.WEIGHTS] == 1024.0
    assert tolerance.keras_units(optimizers.Adam(), "tf1") == {}
    assert tolerance.keras_units(optimizers.Momentum(), "keras")[stages.SLOTS] * EPSILON < 1e-6


def test_float64_programs_are_allowed_more_with_depth_and_far_less_than_any_fault():
    shallow = tolerance.double(stages.GRADIENTS, np.dtype("float64"), 1, 1)
    assert shallow == 64 * 2.0**-52
    assert tolerance.double(stages.GRADIENTS, np.dtype("float64"), 1, 100) == 100 * shallow < 1e-11
    assert tolerance.double(stages.WEIGHTS, np.dtype("float64"), 1, 100) == 16 * 2.0**-52  # an update has no layers
    assert tolerance.double(stages.LOSS, np.dtype("float64"), 4, 0) == 32 * 2.0**-52


def test_a_common_factor_is_limited_by_units_or_by_the_distance_from_the_truth():
    assert tolerance.factor("float32", 4, 0.0) == 32 * EPSILON
    assert tolerance.factor("float32", 4, 0.25) == 2.0
