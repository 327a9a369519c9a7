import numpy as np
import pytest

from parity.diagnosis.signatures.penalties import fit_penalty_changes, same_multiple
from tests.parity.step_records import compared_step, made_up_evidence, made_up_state, step_record

W = np.array([1.0, -2.0, 0.5, 3.0, -0.25], np.float32)
G = np.array([0.5, 1.0, -1.0, 0.25, 2.0], np.float32)


def changes(*added):
    """The penalties that explain what each replica adds to the gradient."""
    left = step_record(gradients=[{"w": G, "v": G} for _ in added])
    right = step_record(gradients=[{"w": G + np.asarray(value, np.float32), "v": G} for value in added])
    step = compared_step(left, right, made_up_state({"w": W, "v": W}))
    return fit_penalty_changes(made_up_evidence([step]))


def test_both_terms_of_a_difference_are_fitted():
    found = changes(0.5 * np.sign(W) - 0.25 * W, 0.5 * np.sign(W) - 0.25 * W)
    assert list(found) == ["w"]
    assert found["w"] == pytest.approx((-0.25, 0.5), rel=1e-5)


def test_a_difference_that_they_do_not_explain_is_none():
    assert changes(G) == {}
    assert changes(0.25 * W + 0.01 * G) == {}


def test_replicas_must_agree_on_the_multiples():
    assert changes(0.25 * W, 0.25 * W) != {}
    assert changes(0.25 * W, 0.3 * W) == {}


def test_numbers_that_are_not_finite_have_no_multiple():
    assert changes([np.nan] * 5) == {}
    assert not same_multiple([1.0, float("nan")])
    assert same_multiple([1.0, 1.01]) and not same_multiple([1.0, 1.05])
