import contextlib

import pytest

from parity.causes import speed
from parity.causes.basics.cause import HIGH
from parity.comparison.setup import Setup
from parity.diagnosis.facts import run_speed
from parity.fault_injection import speed_trial
from tests.parity.fault_injection.made_up_faults import cause_and_fault, recognized_cause
from workloads.sources import Resident, Synthetic


class Program(contextlib.nullcontext):
    """A program that only remembers the source of its batches."""

    def __init__(self, setup):
        super().__init__(self)
        self.source = setup.make_source


@pytest.fixture
def measured(monkeypatch):
    """Measures nothing; returns the list of (program, job, program with a resident batch)."""
    calls = []

    def measure(program, job, make_resident):
        calls.append((program, job, make_resident()))
        return "measurements"

    monkeypatch.setattr(run_speed, "measure_run_speed", measure)
    monkeypatch.setattr(Setup, "modern_program", lambda self: Program(self))
    return calls


def run_trial(monkeypatch, recognized):
    monkeypatch.setattr(speed, "recognize_causes", lambda facts: recognized if facts == "measurements" else None)
    return speed_trial.run_speed_trial(*cause_and_fault("a", Program))


def test_a_fault_of_speed_is_measured_beside_a_resident_batch(monkeypatch, measured):
    row = run_trial(monkeypatch, [recognized_cause("A"), recognized_cause("B")])
    ((program, job, resident),) = measured
    assert (program.source, resident.source) == (Synthetic, Resident)
    assert (job.workload.name, job.replicas) == ("regression", 2)
    assert row.pop("seconds") >= 0
    assert row == {
        "injected": "a",
        "expected": ["A"],
        "workload": "regression",
        "model": "regression",
        "replicas": 2,
        "detected": True,
        "stage": "speed",
        "named": "A",
        "confidence": HIGH,
        "right": True,
        "all_named": ["A", "B"],
        "both_named": None,
        "wrong_and_sure": ["B"],
        "sentence": "A it is.",
    }


def test_a_fault_of_speed_that_no_criterion_recognizes_is_not_detected(monkeypatch, measured):
    row = run_trial(monkeypatch, [])
    assert (row["detected"], row["stage"], row["named"], row["right"]) == (False, "speed", None, False)


def test_a_fault_that_cannot_occur_is_refused(measured):
    cause, fault = cause_and_fault("a", Program, occurs_at=lambda replicas: False)
    with pytest.raises(ValueError, match="fault: got a, cannot occur in regression"):
        speed_trial.run_speed_trial(cause, fault)
    assert measured == []
