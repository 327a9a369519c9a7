"""Shapes with open sizes."""

import pytest

from workloads.lifted.shapes import common_shape, fits


@pytest.mark.parametrize(
    "sizes, shape, expected",
    [
        ((2, 3), None, True),
        ((2, 3), [2, 3], True),
        ((2, 3), [None, 3], True),
        ((2, 3), [None, 4], False),
        ((2, 3), [2], False),
        ((), [], True),
    ],
)
def test_an_array_fits_a_shape_with_open_sizes(sizes, shape, expected):
    assert fits(sizes, shape) == expected


@pytest.mark.parametrize(
    "left, right, expected", [((4, 7), (4, 9), (4, None)), ((None, 7), (4, 7), (None, 7)), ((4,), (4, 7), (4,))]
)
def test_sizes_that_differ_are_open_in_the_common_shape(left, right, expected):
    assert common_shape(left, right) == expected
