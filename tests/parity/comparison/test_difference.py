import numpy as np
import pytest

from parity.comparison.difference import _compare_floats, compare, relative_gap

F = np.float32


def test_identical_bits():
    difference = compare("w", F([1, 2]), F([1, 2]))
    assert difference.identical and difference.size == 2 and difference.max_ulp == 0


def test_the_worst_element_is_named_with_both_values():
    difference = compare("w", F([[1, 2], [3, 4]]), F([[1, 2.5], [3, 4.25]]))
    assert (difference.index, difference.left, difference.right) == ((0, 1), 2.0, 2.5)
    assert (difference.differing, difference.max_abs, difference.max_rel) == (2, 0.5, 0.125)


def test_large_numbers_whose_sum_overflows_are_compared():
    assert compare("w", F([3e38, 3e38]), F([3e38, 3e38])).identical


def random_arrays(seed):
    """Two float arrays that differ in some elements, by rounding or by much, some of them zeros and large numbers."""
    random = np.random.RandomState(seed)
    dtype = (np.float32, np.float64, np.float16)[seed % 3]
    left = (random.normal(size=(5, 7)) * random.choice([0.0, 1.0, 1e-6, 1e4], size=(5, 7))).astype(dtype)
    factors = random.choice([1.0, 1.0, -1.0, 1 + 4 * float(np.finfo(dtype).eps), 1.5], size=(5, 7))
    return left, (left * factors).astype(dtype)


@pytest.mark.parametrize("seed", range(9))
@pytest.mark.parametrize("scale", [0.0, 1e6])
def test_arrays_without_nan_are_compared_as_any_others(seed, scale):
    left, right = random_arrays(seed)
    found = compare("w", left, right, scale)
    assert found == _compare_floats("w", left, right, scale) and found.differing
    assert relative_gap(left, right, scale) == found.max_rel
    with_nan = right.copy()
    with_nan[2, 3] = np.nan
    assert compare("w", left, with_nan, scale).nonfinite_mismatch == 1
    assert relative_gap(left, with_nan, scale) == compare("w", left, with_nan, scale).max_rel


def test_minus_zero_has_other_bits():
    difference = compare("w", F([1.0, 0.0]), F([1.0, -0.0]))
    assert (difference.differing, difference.max_abs, difference.max_ulp) == (1, 0.0, 0)
    assert difference.index == (1,) and np.signbit(difference.right) and not np.signbit(difference.left)
    assert compare("w", F([np.nan, 0.0]), F([np.nan, -0.0])).index == (1,)


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
