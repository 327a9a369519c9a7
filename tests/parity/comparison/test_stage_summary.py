"""Summaries of a stage: counts, the worst tensor, and the step of the first failure."""

import numpy as np
import pytest

from parity.comparison.difference import Difference, compare
from parity.comparison.stage_summary import StageSummary


def difference(gap, size=2):
    left = np.full(size, 4.0, np.float32)
    right = left.copy()
    right[-1] += gap
    return compare("w", left, right)


def test_identical_tensors_are_counted_and_nothing_else():
    summary = StageSummary()
    assert summary.add(0, difference(0.0), 0.0)
    assert (summary.tensors, summary.elements, summary.differing_elements) == (1, 2, 0)
    assert summary.first_difference is None and summary.worst is None


@pytest.mark.parametrize("allowed, within", [(0.25, True), (0.2499, False), (0.0, False)])
def test_a_tensor_is_within_its_tolerance_up_to_the_limit(allowed, within):
    summary = StageSummary()
    assert summary.add(3, difference(1.0), allowed) is within
    assert summary.first_difference == 3
    assert summary.failed == (None if within else 3)


def test_the_worst_tensor_is_the_nearest_to_its_tolerance():
    summary = StageSummary()
    summary.add(0, difference(1.0), 1.0)  # a quarter of what is allowed
    summary.add(1, difference(0.5), 0.125)  # all of it
    summary.add(2, difference(2.0), 4.0)
    assert (summary.worst_step, summary.worst_share, summary.max_rel) == (1, 1.0, 0.5)


def test_a_nan_on_one_side_is_never_within():
    summary = StageSummary()
    broken = Difference("w", 2, 1, nonfinite_mismatch=1)
    assert not summary.add(0, broken, 1.0)
    assert summary.failed == 0


def test_json_has_every_measure_and_the_worst_difference():
    summary = StageSummary()
    summary.add(0, difference(1.0), 1.0)
    written = summary.to_json()
    assert written["worst"]["name"] == "w" and "worst_share" not in written
    assert StageSummary().to_json()["worst"] is None
