import numpy as np
import pytest

from parity.comparison import fits
from parity.diagnosis.gradients import fit_factor_and_decay


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


def test_a_decay_is_told_from_a_factor():
    rng = np.random.RandomState(0)
    left = {"a": rng.randn(6), "b": rng.randn(4)}
    weights = {"a": rng.randn(6), "b": rng.randn(4)}
    right = {"a": 4 * left["a"] + 0.5 * weights["a"], "b": 4 * left["b"]}
    data, decay, residual = fit_factor_and_decay(left, right, weights, ["a", "b"])
    assert data == pytest.approx(4)
    assert decay["a"] == pytest.approx(0.5)
    assert decay["b"] == pytest.approx(0, abs=1e-12)
    assert residual < 1e-12


def test_near_is_relative():
    assert fits.near(4.001, 4)
    assert not fits.near(4.1, 4)
    assert not fits.near(float("nan"), 4)
