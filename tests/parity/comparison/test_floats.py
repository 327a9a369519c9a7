"""Bits, units in the last place, lengths and ratios of floating-point arrays."""

import numpy as np
import pytest

from parity.comparison.floats import have_same_bits, is_finite, length, relative, ulps

F = np.float32


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ulps_count_representable_values(dtype):
    one = dtype(1)
    tiny = np.nextafter(dtype(0), one)
    left = np.array([one, one, dtype(0), -tiny, dtype(-0.0)], dtype)
    right = np.array([np.nextafter(one, dtype(2)), np.nextafter(one, dtype(0)), tiny, tiny, dtype(0)], dtype)
    assert list(ulps(left, right)) == [1, 1, 1, 2, 0]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
def test_bits_are_the_same_or_not_in_every_width(dtype):
    left = np.array([[1, 2, 3], [4, 5, 6]], dtype)
    right = left.copy()
    assert have_same_bits(left, right) and have_same_bits(left[:, ::2], right[:, ::2])
    right[1, 2] = np.nextafter(right[1, 2], dtype(9))
    assert not have_same_bits(left, right) and have_same_bits(left[:, :2], right[:, :2])
    assert not have_same_bits(dtype(0.0), dtype(-0.0))


def test_large_numbers_are_finite_though_their_sum_is_not():
    assert is_finite(F([3e38, 3e38])) and is_finite(F([])) and is_finite(F(1))
    assert not any(map(is_finite, (F([1, np.nan]), F([np.inf, 1]), F([np.inf, -np.inf]))))


def test_a_ratio_of_nothing_is_none_and_over_nothing_infinite():
    assert (relative(0.0, 0.0), relative(1.0, 4.0), relative(1.0, 0.0)) == (0.0, 0.25, float("inf"))


def test_the_length_of_several_arrays_is_summed_in_float64():
    assert length([F([[3.0]]), F([4.0])]) == 5.0
    assert length([F([1e30, 1e30])]) > 1e30 and length([]) == 0.0  # a float32 square would overflow
