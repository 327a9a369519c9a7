import time
from types import SimpleNamespace

from parity.diagnosis.facts.run_speed import LONG, measure_run_speed
from tests.parity.step_records import step_record

JOB = SimpleNamespace(global_batch=8, replicas=2)


class MadeUpRun:
    """A program that runs nothing; it counts the steps asked for and, if told, a trace for each of them."""

    def __init__(self, eager=False, retraces=False, wait=0.0):
        self.steps, self.closed = [], False
        self._eager, self._retraces, self._wait, self._traces = eager, retraces, wait, 1

    def step(self):
        return step_record(examples=[[1, 2, 3], [4, 5, 6]])

    def run(self, steps):
        self.steps.append(steps)
        self._traces += steps if self._retraces else 0

    def state(self):
        time.sleep(self._wait)

    def traces(self):
        return self._traces

    def runs_eagerly(self):
        return self._eager

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.closed = True


def test_a_compiled_program_is_timed_with_and_without_its_input():
    program, resident = MadeUpRun(), MadeUpRun()
    found = measure_run_speed(program, JOB, lambda: resident, steps=3)
    assert program.steps == [2, 3, LONG]
    assert resident.steps == [2, LONG]
    assert resident.closed
    assert (found.steps, found.traces, found.eager, found.replicas) == (3, 0, False, 2)
    assert (found.claimed, found.counted) == (8.0, 6.0)  # by the job, and by the batches' examples
    assert found.streamed > 0 and found.resident > 0


def test_a_program_that_waits_finishes_after_its_call_returns():
    found = measure_run_speed(MadeUpRun(wait=0.002), JOB, steps=3)
    assert found.finished >= found.returned + 0.002
    assert found.read >= 0.002
    assert found.resident == 0.0


def test_traces_are_counted_and_a_program_that_retraces_is_not_timed_further():
    program = MadeUpRun(retraces=True)
    found = measure_run_speed(program, JOB, steps=3)
    assert found.traces == 3
    assert found.streamed == 0.0
    assert program.steps == [2, 3]


def test_an_eager_program_is_not_timed_further():
    assert measure_run_speed(MadeUpRun(eager=True), JOB, steps=3).streamed == 0.0


def test_a_program_may_claim_other_examples_than_the_jobs():
    program = MadeUpRun()
    program.examples_per_step = 4
    assert measure_run_speed(program, JOB, steps=3).claimed == 4.0
