"""Confidence intervals by hand."""

import math

import pytest

from parity.experiments.intervals import MOST, confidence_interval


def test_the_mean_of_three_with_students_t_of_two_degrees_of_freedom():
    interval = confidence_interval([1.0, 2.0, 3.0])
    assert interval.mean == 2.0 and interval.half == pytest.approx(4.303 / math.sqrt(3))


def test_equal_numbers_have_no_width():
    assert confidence_interval([0.5, 0.5]) == (0.5, 0.0)


def test_there_is_a_t_for_most_numbers_and_not_for_more():
    assert confidence_interval([0.0] * (MOST - 1) + [1.0]).half > 0
    with pytest.raises(IndexError):
        confidence_interval([0.0] * (MOST + 1))
