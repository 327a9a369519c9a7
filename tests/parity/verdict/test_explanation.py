"""Explanations: the steps that are taken again, and causes of recordings that are made up."""

import contextlib

import pytest

from parity.comparison.result import Failure, Verification
from parity.diagnosis.collect import FREE, LOCKED
from parity.verdict.explanation import explain_failure, explain_recordings, steps_to_explain
from tests.cases import Dyadic, setup
from workloads.records.reader import Recording
from workloads.records.writer import Recorder


def failed_at(step):
    return Verification("exact", "free", passed=False, first=Failure(step, "loss", None, 0.0))


@pytest.mark.parametrize(
    "step, recorded, free, locked",
    [
        (0, None, FREE, LOCKED),
        (FREE - 2, None, FREE, LOCKED),
        (FREE - 1, None, FREE + 1, LOCKED),
        (30, None, 32, LOCKED),
        (0, 4, 4, 0),  # the recording ends
        (0, FREE + 1, FREE, 1),
        (30, 31, 31, 0),
    ],
)
def test_steps_go_a_little_past_the_first_failure_if_the_recording_does(step, recorded, free, locked):
    assert steps_to_explain(failed_at(step), recorded) == (free, locked)


def test_without_a_first_failure_the_usual_steps_are_taken():
    assert steps_to_explain(Verification("exact", "free", passed=False)) == (FREE, LOCKED)


def test_equal_programs_show_no_cause():
    explanation = explain_failure(setup(Dyadic()), None, failed_at(0))
    assert explanation.recognized == [] and len(explanation.evidence.steps) == FREE + LOCKED
    assert explanation.evidence.context.about["left"] and explanation.evidence.context.about["right"]


def record(path, factor):
    """Steps of gradient descent with learning rate 0.5 on w, the gradients of which are multiplied."""
    weight = 8.0
    with Recorder(str(path), replicas=1, global_batch=2, weights={"w": [weight]}) as recorder:
        for _ in range(4):
            gradient = weight * factor / 4
            weight -= 0.5 * gradient
            recorder.step(
                losses=1.0, gradients=[{"w": [gradient]}], combined={"w": [gradient]}, rate=0.5, weights={"w": [weight]}
            )
    return Recording(str(path))


def test_recordings_are_explained_as_far_as_both_go(tmp_path):
    with contextlib.ExitStack() as stack:
        left, right = (stack.enter_context(record(tmp_path / f"{f}.npz", f)) for f in (1.0, 1.5))
        explanation = explain_recordings(left, right, steps=3)
    assert len(explanation.evidence.steps) == 3
    assert explanation.evidence.steps[0].right.gradients[0]["w"] == [3.0]
