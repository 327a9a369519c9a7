"""Thresholds of what each comparison tells from rounding, on both sides."""

import numpy as np
import pytest

from parity.comparison import stages
from parity.coverage.measuring import detector
from parity.coverage.mutant import Effect


def effect(expected, mutated, stage=stages.WEIGHTS, dtype="float32"):
    return Effect(stage, "w", np.asarray(expected, dtype), np.asarray(mutated, dtype))


def test_bits_show_the_last_unit_and_nothing_else():
    assert detector.detects_any_bit(effect([1.0, 2.0], [1.0, np.nextafter(np.float32(2), np.float32(3))]))
    assert not detector.detects_any_bit(effect([1.0, 2.0], [1.0, 2.0]))


def test_equal_numbers_with_other_bits_differ_for_bits_alone():
    zeros = effect([0.0], [-0.0])
    assert detector.detects_any_bit(zeros) and not detector.detector_in_float64({})(zeros)
    same = effect([1.0, np.nan], [1.0, np.nan])
    assert not detector.detects_any_bit(same) and not detector.detector_in_float64({})(same)


@pytest.mark.parametrize("gap, seen", [(3e-9, True), (5e-10, False)])
def test_double_precision_shows_a_billionth_of_the_largest_entry(gap, seen):
    sees = detector.detector_in_float64({})
    assert sees(effect([1.0, 0.0], [1.0, gap], dtype="float64")) == seen


def test_formulas_that_need_more_units_hide_more():
    values = effect([1.0], [1.0 + 1e-6], dtype="float64")
    assert detector.detector_in_float64({})(values) and not detector.detector_in_float64({stages.WEIGHTS: 1e-5})(values)


def test_a_learning_rate_is_float32_in_either_precision():
    sees = detector.detector_in_float64({})
    assert not sees(effect(1.0, 1.0 + 2**-23, stages.RATE)) and sees(effect(1.0, 1.01, stages.RATE))


@pytest.mark.parametrize("gap, seen", [(1e-4, True), (1e-7, False)])
def test_the_float32_tolerance_hides_rounding(gap, seen):
    assert detector.detector_beyond_tolerance("float32", 2)(effect([1.0], [1.0 + gap])) == seen


@pytest.mark.parametrize(
    "sees",
    [detector.detects_any_bit, detector.detector_in_float64({}), detector.detector_beyond_tolerance("float32", 2)],
)
def test_what_is_not_finite_shows_nothing_and_texts_show_any_difference(sees):
    assert not sees(effect([np.nan], [1.0])) and not sees(effect([1.0], [np.inf]))
    assert sees(Effect(stages.BATCH, "replica 0", np.array("ab"), np.array("ba")))
