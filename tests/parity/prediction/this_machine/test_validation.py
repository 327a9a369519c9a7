"""Validation of predictions: each job in a process of its own, and the order of alternatives."""

import pytest

from parity.prediction.this_machine import validation
from parity.prediction.this_machine.measured_step import MeasuredStep
from parity.prediction.this_machine.validation import ValidationPlan, alternatives_of, validate
from workloads.support.errors import Lost

PLAN = ValidationPlan(("regression", "stacked_lstm"), (1, 2), "small", 0.1, 2)


class DirectChild:
    """Runs its target at once, in this process."""

    ended = 0

    def __init__(self, name, target, arguments):
        self._said = []
        target(self, *arguments)

    def say(self, message):
        self._said.append(message)

    def receive(self):
        if not self._said:
            raise Lost("ended")
        return self._said.pop()

    def kill(self):
        type(self).ended += 1


@pytest.fixture
def child(monkeypatch):
    monkeypatch.setattr(DirectChild, "ended", 0)
    monkeypatch.setattr(validation, "Child", DirectChild)
    return DirectChild


def test_each_job_has_a_process_and_its_own_number_of_replicas(child, monkeypatch):
    def measure(alternatives, setup, seconds, rounds):
        assert (seconds, rounds) == (0.1, 2) and {way.setup.job.replicas for way in alternatives.values()} == {
            setup.job.replicas
        }
        return [MeasuredStep(name, way.side, setup.job.replicas, 1.0, 2.0) for name, way in alternatives.items()]

    monkeypatch.setattr(validation, "measure_alternatives", measure)
    shown = []
    jobs = validate(PLAN, lambda *line: shown.append(line))
    assert [(job.workload, job.replicas) for job in jobs] == [
        ("regression", 1),
        ("regression", 2),
        ("stacked_lstm", 1),
        ("stacked_lstm", 2),
    ]
    assert [step.name for step in jobs[0].steps] == list(alternatives_of("regression", 1, "small"))
    assert len(jobs[1].steps) > len(jobs[0].steps)  # one replica has no placements
    assert child.ended == 4 and shown[-1] == ("stacked_lstm, 2 replicas", 3, 4)


def test_a_process_that_fails_is_ended(child, monkeypatch):
    monkeypatch.setattr(validation, "validate_job", lambda speaker, *arguments: None)
    with pytest.raises(Lost):
        validate(PLAN, lambda *line: None)
    assert child.ended == 1
