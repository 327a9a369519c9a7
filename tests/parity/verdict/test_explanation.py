"""Explanations: the steps that are taken again, and causes of recordings that are made up."""

import contextlib
import dataclasses
import os
import signal

import pytest

from parity.causes.basics.cause import LOW, MEDIUM, Finding, RecognizedCause
from parity.causes.catalogue import CAUSES
from parity.comparison.result import Failure, Verification
from parity.diagnosis.collect import FREE, LOCKED
from parity.verdict import explanation as explaining
from parity.verdict.explanation import Explanation, explain_failure, explain_recordings, steps_to_explain
from tests.cases import Dyadic, setup
from tests.parity.step_records import made_up_evidence
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


def explained(folder, monkeypatch, confirm):
    """Explains two recordings whose job can be run here, and whose causes `confirm` confirms."""
    monkeypatch.setattr(explaining, "setup_of_recordings", lambda left, right: "a setup")
    monkeypatch.setattr(explaining, "_confirmed", lambda setup, evidence, recognized: confirm())
    with contextlib.ExitStack() as stack:
        left, right = (stack.enter_context(record(folder / f"{f}.npz", f)) for f in (1.0, 1.5))
        return explain_recordings(left, right, confirm=True)


def _break_off():
    os.kill(os.getpid(), signal.SIGINT)


def _break_off_tensorflow():
    with contextlib.suppress(KeyboardInterrupt):
        _break_off()
    raise ValueError("TensorFlow made this of the KeyboardInterrupt")


@pytest.mark.parametrize("confirm", [_break_off, _break_off_tensorflow])
def test_ctrl_c_leaves_the_causes_unconfirmed(tmp_path, monkeypatch, confirm):
    explanation = explained(tmp_path, monkeypatch, confirm)
    assert explanation.partial and explanation.remaining is None and explanation.recognized
    assert {entry.finding.confidence for entry in explanation.recognized} <= {"medium", "low"}
    assert not any(entry.confirmation for entry in explanation.recognized)


def test_an_error_is_no_ctrl_c(tmp_path, monkeypatch):
    def fail():
        raise ValueError("a defect")

    with pytest.raises(ValueError, match="a defect"):
        explained(tmp_path, monkeypatch, fail)


def test_ctrl_c_before_there_are_causes_ends_the_command(tmp_path, monkeypatch):
    monkeypatch.setattr(explaining.catalogue, "recognize_causes", lambda evidence: _break_off())
    with pytest.raises(KeyboardInterrupt):
        explained(tmp_path, monkeypatch, lambda: None)


def test_a_fault_of_the_forward_pass_begins_at_the_op_that_differs():
    by_id = {cause.id: cause for cause in CAUSES}
    vague = Finding("It computes another loss.", LOW, "gradients differ")
    recognized = [RecognizedCause(by_id[name], vague) for name in ("FORWARD_PASS", "RECTIFIER")]
    placed = Explanation(recognized, made_up_evidence(())).with_first_op("Relu at port.py:57, in fc1").recognized
    assert placed[0].finding.sentence.endswith("another loss; the first op that differs is Relu at port.py:57, in fc1.")
    assert placed[0].finding.confidence == MEDIUM
    assert placed[1].finding == vague, "another cause is left as it is"
    sure = [RecognizedCause(by_id["FORWARD_PASS"], dataclasses.replace(vague, confidence=MEDIUM))]  # of a layer by taps
    assert Explanation(sure, made_up_evidence(())).with_first_op("Relu at port.py:1, in f").recognized == sure
