import numpy as np
import pytest

from parity.diagnosis.context.job_context import Context
from parity.diagnosis.signatures.smoothed_labels import find_smoothed_labels
from tests.parity.step_records import compared_step, made_up_evidence, made_up_state, step_record

G = np.array([0.25, -0.5, 0.125, 0.125], np.float32)
COUNTS = np.array([[1, 3, 0, 4], [2, 2, 3, 1]])


def smoothed(gaps, batch=8, left=G):
    right = step_record(gradients=[{"biases": (left + gap).astype(np.float32)} for gap in gaps])
    left = step_record(gradients=[{"biases": left.astype(np.float32)} for _ in gaps])
    step = compared_step(left, right, made_up_state({"biases": np.zeros(len(gaps[0]), np.float32)}))
    return find_smoothed_labels(made_up_evidence([step], Context(2, 2 * batch)))


def test_smoothing_is_read_from_whole_numbers_of_examples():
    found = smoothed(0.125 * (COUNTS / 8 - 1 / 4))
    assert found.name == "biases" and found.gradients == 2
    assert found.smoothing == pytest.approx(0.125, rel=1e-4)


def test_labels_of_legacy_that_the_port_does_not_smooth():
    gradients = np.array([0.25, -0.5, 0.125, 0.0625, 0.0625], np.float32)
    counts = np.array([[1, 3, 0, 4, 0], [2, 2, 3, 1, 0]])  # 8 examples of 5 classes: counts of one side alone are whole
    found = smoothed(-0.125 * (counts / 8 - 1 / 5), left=gradients)
    assert found.smoothing == pytest.approx(-0.125, rel=1e-4) and found.side_known


def test_probabilities_tell_which_side_smooths_where_counts_of_both_are_whole():
    counts = np.array([3, 1, 2, 2])
    legacy = (np.array([0.375, 0.125, 0.125, 0.375]) - counts / 8).astype(np.float32)
    found = smoothed([0.125 * (counts / 8 - 1 / 4)], left=legacy)
    assert found.smoothing == pytest.approx(0.125, rel=1e-4) and not found.side_known
    counts = np.array([4, 0, 3, 1])
    certain = (np.array([0.03125, 0.9375, 0.03125, 0.0]) - counts / 8).astype(np.float32)
    found = smoothed([0.125 * (counts / 8 - 1 / 4)], left=certain)
    assert found.smoothing == pytest.approx(0.125, rel=1e-4) and found.side_known
    found = smoothed([-0.125 * (counts / 8 - 1 / 4)], left=certain + 0.125 * (counts / 8 - 1 / 4))
    assert found.smoothing == pytest.approx(-0.125, rel=1e-4) and found.side_known


def test_counts_that_are_not_whole_are_no_smoothing():
    assert smoothed(0.125 * (np.array([[1.3, 2.7, 0, 4], [2, 2, 3, 1]]) / 8 - 1 / 4)) is None


def test_counts_must_be_of_the_batch():
    assert smoothed(0.125 * (COUNTS / 8 - 1 / 4), batch=5) is None


def test_equal_gradients_are_not_smoothed():
    assert smoothed(np.zeros((2, 4))) is None


def test_counts_that_are_whole_by_less_than_rounding_explains_are_no_smoothing():
    almost = COUNTS + 0.01 * np.array([1, -1, 1, -1])
    assert smoothed(0.125 * (almost / 8 - 1 / 4)) is None


def test_a_smoothing_is_distinguished_from_a_factor_of_the_loss():
    assert smoothed(0.125 * (COUNTS / 8 - 1 / 4)).distinct


def test_a_factor_of_the_loss_looks_the_same_where_all_classes_are_equally_likely():
    counts = np.array([1, 3, 0, 4])
    gradient = (1 / 4 - counts / 8).astype(np.float32)
    left, right = (step_record(gradients=[{"biases": factor * gradient}]) for factor in (1.0, 0.875))
    step = compared_step(left, right, made_up_state({"biases": gradient}))
    found = find_smoothed_labels(made_up_evidence([step], Context(1, 8)))
    assert found.smoothing == 0.125 and not found.distinct
