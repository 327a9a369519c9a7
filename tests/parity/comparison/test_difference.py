import numpy as np
import pytest

from parity.comparison.difference import compare, ulps

F = np.float32


def test_identical_bits():
    difference = compare("w", F([1, 2]), F([1, 2]))
    assert difference.identical and difference.size == 2 and difference.max_ulp == 0


def test_the_worst_element_is_named_with_both_values():
    difference = compare("w", F([[1, 2], [3, 4]]), F([[1, 2.5], [3, 4.25]]))
    assert (difference.index, difference.left, difference.right) == ((0, 1), 2.0, 2.5)
    assert (difference.differing, difference.max_abs, difference.max_rel) == (2, 0.5, 0.125)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ulps_count_representable_values(dtype):
    one = dtype(1)
    tiny = np.nextafter(dtype(0), one)
    left = np.array([one, one, dtype(0), -tiny, dtype(-0.0)], dtype)
    right = np.array([np.nextafter(one, dtype(2)), np.nextafter(one, dtype(0)), tiny, tiny, dtype(0)], dtype)
    assert list(ulps(left, right)) == [1, 1, 1, 2, 0]


def test_minus_zero_has_other_bits():
    difference = compare("w", F([0.0]), F([-0.0]))
    assert (difference.differing, difference.max_abs, difference.max_ulp) == (1, 0.0, 0)


def test_nan_and_infinity_in_the_same_places_are_equal_and_counted():
    difference = compare("w", F([np.nan, np.inf, -np.inf, 1]), F([np.nan, np.inf, -np.inf, 1]) * 1)
    assert difference.identical
    difference = compare("w", F([np.nan, np.inf, 1]), F([np.nan, np.inf, 2]))
    assert (difference.nonfinite, difference.nonfinite_mismatch, difference.differing) == (2, 0, 1)


@pytest.mark.parametrize("left, right", [(np.nan, 1.0), (1.0, np.inf), (np.inf, -np.inf), (np.nan, np.inf)])
def test_a_nan_or_infinity_on_one_side_is_a_mismatch(left, right):
    difference = compare("w", F([0, left]), F([0, right]))
    assert (difference.nonfinite_mismatch, difference.index) == (1, (1,))


def test_relative_to_zeros_is_infinite_unless_a_scale_is_given():
    assert compare("w", F([0, 0]), F([0, 1])).max_rel == np.inf
    assert compare("w", F([0, 0]), F([0, 1]), scale=4.0).max_rel == 0.25
    assert compare("w", F([8]), F([9]), scale=4.0).max_rel == 0.125


def test_texts_are_equal_or_not():
    assert compare("digest", np.array("ab"), np.array("ab")).identical
    difference = compare("digest", np.array("ab"), np.array("cd"))
    assert (difference.left, difference.right, difference.max_rel) == ("ab", "cd", np.inf)


@pytest.mark.parametrize("right", [F([1, 2, 3]), np.float64([1, 2]), np.int32([1, 2])])
def test_shapes_and_dtypes_must_match(right):
    with pytest.raises(ValueError):
        compare("w", F([1, 2]), right)


def test_empty_and_scalar_tensors():
    assert compare("w", F([]), F([])).identical
    assert compare("w", F(1), F(3)).index == ()
