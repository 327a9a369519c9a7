"""The process of a port under settings: what it says, and its comparison; one real process is run under `slow`."""

import contextlib

import pytest

from parity.tuning import tuned_process
from parity.tuning.settings import Settings
from parity.tuning.tuned_process import Answer, TunedProcess, serve_steps
from tests.cases import Dyadic, setup
from workloads.support.errors import InputError, Lost


class Speaker:
    """Asks for some steps, and remembers what is said."""

    def __init__(self, *asked):
        self.asked, self.said = list(asked), []

    def listen(self):
        return self.asked.pop(0) if self.asked else None

    def say(self, message):
        self.said.append(message)


def test_the_sides_are_compared_and_then_steps_are_taken():
    speaker = Speaker(2, 3)
    serve_steps(speaker, setup(Dyadic()), {}, steps=2, warm_up=1)
    (passed, verdict), *taken = speaker.said
    assert passed and verdict.startswith("PARITY: 2 steps") and taken == [2, 3]


def test_a_port_that_is_not_equal_takes_no_step(monkeypatch):
    job = setup(Dyadic())
    other = setup(Dyadic(), 2, 16)
    monkeypatch.setattr(type(job), "modern_program", lambda self, dtype=None: other.legacy_program(dtype))
    speaker = Speaker(2)
    serve_steps(speaker, job, {}, steps=2, warm_up=1)
    assert speaker.said[0][0] is False and len(speaker.said) == 1 and "NO PARITY" in speaker.said[0][1]


def test_the_allocator_is_set_from_the_variables(mallopt_calls):
    tuned_process.set_allocator({"MALLOC_MMAP_THRESHOLD_": "512", "OTHER": "1"})
    assert mallopt_calls == [(-3, 512)]  # M_MMAP_THRESHOLD


@pytest.mark.parametrize("error", [InputError("--all_reduce: got 'x'"), Lost("the port ended by signal 11")])
def test_a_port_that_cannot_run_has_not_passed(error, monkeypatch):
    class Child:
        def __init__(self, *unused, **settings):
            pass

        def receive(self):
            raise error

    monkeypatch.setattr(tuned_process, "Child", Child)
    assert TunedProcess(setup(Dyadic()), Settings(), 2, 1).compare() == Answer(False, str(error))


@pytest.mark.slow
def test_a_process_has_its_variables_and_takes_steps():
    settings = Settings((("steps_per_call", 2),), (("TF_NUM_INTRAOP_THREADS", "1"),))
    with contextlib.closing(TunedProcess(setup(Dyadic()), settings, 2, 1)) as process:
        assert process.compare().passed
        process.run(3)
