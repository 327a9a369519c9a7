"""Verdicts and notes of made-up comparisons."""

import dataclasses

import numpy as np
import pytest

from parity.comparison.difference import Difference, compare
from parity.comparison.judging import tolerance
from parity.comparison.result import Failure, Verification
from parity.comparison.stage_summary import StageSummary
from parity.reports.verification_text import describe_difference, verification_notes, verification_verdict

FAILED = Difference("w", 2, 1, 0.5, 0.25, left=2.0, right=2.5)


def test_a_failure_names_the_place():
    difference = compare("conv/weights", np.float32([[1, 2]]), np.float32([[1, 4]]))
    first = Failure(3, "weights", difference, 0.0)
    line = verification_verdict(Verification("exact", "free", 5, False, first=first))
    assert "first at step 3, stage weights: conv/weights[0,1] at step 3: 2.0 | 4.0" in line


def test_a_failure_of_zeros_alone_says_so():
    difference = compare("w", np.float32([1.0, -0.0]), np.float32([1.0, 0.0]))
    line = verification_verdict(Verification("exact", "free", 5, False, first=Failure(3, "weights", difference, 0.0)))
    assert "w[1] at step 3: -0.0 | 0.0; allowed 0" in line
    assert line.endswith("found 0 (exact; all values are equal, 1 zero of another sign)")


def test_a_scalar_has_no_index():
    assert describe_difference(FAILED, 7) == "w at step 7: 2.0 | 2.5"
    assert describe_difference(dataclasses.replace(FAILED, index=(0, 3)), 7) == "w[0,3] at step 7: 2.0 | 2.5"


@pytest.mark.parametrize(
    "result, verdict",
    [
        (Verification("exact", "free", 5), "PARITY: 5 steps, every stage identical bits"),
        (Verification("auto", "free", 5), "PARITY: 5 steps, every stage within the auto tolerance"),
        (
            Verification("exact", "free", passed=False, mismatched=["a: only on the left", "b: only on the right"]),
            "NO PARITY: variables do not match: a: only on the left; b: only on the right",
        ),
        (
            Verification("exact", "free", 5, False, drift=["a at step 2", "a at step 3"]),
            "NO PARITY: the copies of a mirrored variable disagree: a at step 2",
        ),
        (
            Verification("exact", "free", 5, False, first=Failure(3, "weights", FAILED, 0.0)),
            "NO PARITY: first at step 3, stage weights: w at step 3: 2.0 | 2.5; allowed 0 relative, found 0.25 (exact)",
        ),
    ],
)
def test_verdicts(result, verdict):
    assert verification_verdict(result) == verdict


def test_the_auto_tolerance_gives_the_stages_reason():
    result = Verification("auto", "free", 5, False, first=Failure(3, "weights", FAILED, 0.125))
    assert f"allowed 0.12 relative, found 0.25 ({tolerance.reason('weights')})" in verification_verdict(result)


def test_nothing_is_noted_of_a_plain_run():
    assert verification_notes(Verification("exact", "free", 5, stages={"loss": StageSummary(tensors=2)})) == []


def test_each_kind_of_note():
    result = Verification("auto", "free", 9, stages={"loss": StageSummary(nonfinite=2)})
    result.diverged_at = 4
    result.kinks = [2, 5]
    result.noise = ["b (gradients)"]
    result.single_only = "no reason"
    result.races = [f"{name} at step 1" for name in "abcd"]
    result.drift = [f"{name} at step 1" for name in "abcdef"]
    loss, diverging, kinks, noise, single, races, drift = verification_notes(result)
    assert loss == "loss: 2 elements are NaN or infinite, in the same places on both sides"
    assert "more than a step's rounding at step 4, since training amplifies" in diverging
    assert kinks.startswith("in steps 2, 5 a difference beyond")
    assert noise == "1 tensor is rounding noise in float32 and not judged: b (gradients)"
    assert single == "the mathematics was not judged in float64: no reason"
    assert races.startswith("4 values of variables are those of another order") and races.endswith(
        "a at step 1, b at step 1, c at step 1"
    )
    assert drift.endswith("c at step 1, d at step 1, e at step 1") and "f at" not in drift


def test_noise_in_float32_is_judged_in_float64():
    result = Verification("auto", "free", 9, noise=["b (gradients)"])
    assert verification_notes(result) == ["1 tensor is rounding noise in float32 and judged in float64: b (gradients)"]


def test_a_failure_by_a_rule_says_what_the_tensor_is_instead():
    result = Verification("auto", "locked")
    result.add_failures([Failure(3, "slots", Difference("w/momentum"), 0.0, fact="slots, w/momentum in all steps")])
    assert verification_verdict(result).startswith(
        "NO PARITY: first at step 3, by the workload's rule and the side's own"
    )
