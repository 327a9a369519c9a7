import doctest

import numpy as np
import pytest

from parity.comparison import fits
from parity.diagnosis.facts.replica_gradients import fit_factor_and_decay


def test_a_multiple_is_found_exactly():
    reference = np.array([1.0, 2.0, -4.0])
    assert fits.fit_factor(reference, 4 * reference) == (4.0, 0.0)


def test_what_is_no_multiple_leaves_a_residual():
    found = fits.fit_factor(np.array([1.0, 0.0]), np.array([1.0, 1.0]))
    assert found.factor == 1.0
    assert found.residual == pytest.approx(2**-0.5)


def test_nothing_has_no_multiple():
    assert np.isnan(fits.fit_factor(np.zeros(2), np.ones(2)).factor)
    assert np.isnan(fits.fit_factor(np.ones(2), np.array([1.0, np.nan])).factor)


def test_a_combination_of_two_vectors_is_found():
    a, b = np.array([1.0, 0.0, 2.0]), np.array([0.0, 4.0, 1.0])
    found = fits.fit_combination([a, b], 2 * a - 3 * b)
    np.testing.assert_allclose(found.coefficients, [2, -3], rtol=1e-12)
    assert found.residual < 1e-15


def test_a_decay_is_distinguished_from_a_factor():
    rng = np.random.RandomState(0)
    left = {"a": rng.randn(6), "b": rng.randn(4)}
    weights = {"a": rng.randn(6), "b": rng.randn(4)}
    right = {"a": 4 * left["a"] + 0.5 * weights["a"], "b": 4 * left["b"]}
    fit = fit_factor_and_decay(left, right, weights, ["a", "b"])
    assert fit.data == pytest.approx(4)
    assert fit.decay["a"] == pytest.approx(0.5)
    assert fit.decay["b"] == pytest.approx(0, abs=1e-12)
    assert fit.residual < 1e-12


def test_small_basis_vectors_count_as_much_as_large_ones():
    a, b = np.array([1.0, 0.0]), np.array([0.0, 2.0**-40])
    np.testing.assert_allclose(fits.fit_combination([a, b], a + b).coefficients, [1, 1], rtol=1e-12)


def test_a_combination_of_anything_that_is_not_finite_is_not_known():
    one, bad = np.array([1.0, 0.0]), np.array([np.inf, 0.0])
    for basis, observed in (([one, bad], one), ([one], np.array([np.nan, 0.0]))):
        found = fits.fit_combination(basis, observed)
        assert len(found.coefficients) == len(basis)
        assert np.isnan(found.coefficients).all() and np.isnan(found.residual)


def test_a_basis_vector_of_zeros_gets_no_weight():
    found = fits.fit_combination([np.array([1.0, 2.0]), np.zeros(2)], np.array([3.0, 6.0]))
    np.testing.assert_allclose(found.coefficients, [3, 0], atol=1e-12)


def test_arrays_are_flattened_in_the_order_of_their_names():
    arrays = {"b": np.array([[1, 2]], np.int32), "a": np.float32(0.5)}
    np.testing.assert_array_equal(fits.flatten_arrays(arrays), [0.5, 1.0, 2.0])
    np.testing.assert_array_equal(fits.flatten_arrays(arrays, ["b"]), [1.0, 2.0])
    assert fits.flatten_arrays({}).shape == (0,)
    assert fits.flatten_arrays(arrays).dtype == np.float64


def test_a_relative_norm_beside_nothing_is_zero_or_infinite():
    assert fits.relative_norm(np.zeros(2), np.zeros(2)) == 0.0
    assert fits.relative_norm(np.ones(2), np.zeros(2)) == float("inf")
    assert fits.relative_norm(np.ones(4), np.full(4, 4.0)) == 0.25


def test_spread_is_relative_to_the_largest_magnitude():
    assert fits.spread([-4.0, -2.0]) == 0.5
    assert fits.spread([]) == 0.0
    assert fits.spread([0.0, 0.0]) == 0.0


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(fits).failed == 0
    assert doctest.testmod(fits).attempted >= 4


@pytest.mark.parametrize("gap, close", [(2.0**-11, True), (2.0**-9, False)])
def test_near_has_a_tolerance_of_a_thousandth(gap, close):
    assert fits.near(4 * (1 + gap), 4) is close
    assert fits.near(1 + gap, 1, tolerance=2.0**-12) is False


def test_near_zero_is_zero_alone():
    assert fits.near(0.0, 0.0)
    assert not fits.near(1e-20, 0.0)


def test_near_is_relative():
    assert fits.near(4.001, 4)
    assert not fits.near(4.1, 4)
    assert not fits.near(float("nan"), 4)
