"""The comparison of two records: what rounding may explain, and what it may not."""

import numpy as np
import pytest

from parity.comparison import stages
from parity.comparison.judging.record_comparison import RecordComparison
from parity.comparison.judging.reference_magnitude import ReferenceMagnitudes
from tests.parity.step_records import step_record


def compared(right, response=None, allowed=2.0**-10, left=4.0):
    comparison = RecordComparison({}, lambda *unused: allowed, ReferenceMagnitudes(), "float64")
    comparison.magnitudes.add(step_record(combined={"w": [left]}))
    calls = []

    def respond():
        calls.append(1)
        return {(stages.COMBINED, "w"): response}

    both = (stages.tensors(step_record(combined={"w": [value]})) for value in (left, right))
    failures = comparison.compare(3, 0, *both, None if response is None else respond)
    return failures, comparison, len(calls)


def test_within_the_tolerance_nothing_is_measured():
    failures, comparison, calls = compared(4.0 + 2.0**-9, response=1.0)
    assert (failures, comparison.rounded, calls) == ([], [], 0)


@pytest.mark.parametrize("response, explained", [(0.125, True), (0.0625, False)])
def test_a_difference_may_be_four_times_the_response(response, explained):
    failures, comparison, calls = compared(4.5, response)
    assert calls == 1
    assert comparison.rounded == (["w at step 3"] if explained else [])
    assert [(failure.stage, failure.precision) for failure in failures] == [(stages.COMBINED, "float64")] * (
        not explained
    )


def test_no_response_explains_what_is_not_a_number_or_must_have_identical_bits():
    assert compared(np.nan, response=1e9)[0]
    assert compared(4.5, response=1e9, allowed=0.0)[0]
    assert compared(4.5)[0]
