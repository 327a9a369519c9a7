"""Crossing points of curves with powers of two, so that they are exact."""

import pytest

from parity.experiments.studies.crossing import ABOVE_ALL, BELOW_ALL, Crossing, crossing_of_ratios, crossing_point
from parity.speed.ratio import SpeedRatio


@pytest.mark.parametrize(
    "ys, level, point",
    [
        ([3.0, 2.0, 0.0], 1.0, 8.0),  # half way between 4 and 16, in the logarithm
        ([3.0, 2.0, 1.0], 2.0, 4.0),
        ([3.0, 2.0, 1.0], 1.0, 16.0),
        ([3.0, 2.0, 1.5], 1.0, ABOVE_ALL),
        ([1.0, 0.5, 0.5], 1.0, BELOW_ALL),
        ([0.5, 2.0, 0.0], 1.0, 8.0),  # it must stay below
        ([0.5, 0.5, 2.0], 1.0, ABOVE_ALL),
    ],
)
def test_where_a_curve_comes_down_for_good(ys, level, point):
    assert crossing_point([1, 4, 16], ys, level) == point


def test_the_interval_is_that_of_the_ratios_ends():
    ratios = [SpeedRatio(3.0, 1.0, 4.0, 0), SpeedRatio(2.0, 0.5, 3.0, 0), SpeedRatio(0.0, 0.0, 2.0, 0)]
    found = crossing_of_ratios([1, 4, 16], ratios, 1.0)
    assert found == Crossing(8.0, BELOW_ALL, ABOVE_ALL, 1, 16)
    assert found.text() == "8 [below 1, above 16]"


def test_an_answer_says_where_a_curve_lies_above_the_level():
    def where(median, low, high):
        return Crossing(median, low, high, 32, 2000).where_above()

    assert where(64.0, BELOW_ALL, 128.0) == "below a global batch of 64 [below 32, 128]"
    assert where(BELOW_ALL, BELOW_ALL, 64.0) == (
        "at none of the global batches from 32 to 2000 (crossing point: below 32 [below 32, 64])"
    )
    assert where(ABOVE_ALL, 64.0, ABOVE_ALL) == (
        "at all of the global batches from 32 to 2000 (crossing point: above 2000 [64, above 2000])"
    )
