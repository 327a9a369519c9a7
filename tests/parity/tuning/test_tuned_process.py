"""The process of a port under settings, and its comparison with the towers; one real process is run under `slow`."""

import contextlib

import pytest

from legacy.towers.program import LegacyProgram
from parity.tuning import tuned_process
from parity.tuning.settings import Settings
from parity.tuning.tuned_process import Answer, TunedProcess, compared_port
from tests.cases import Dyadic, setup
from workloads.support.errors import InputError, Lost


def test_the_sides_are_compared_and_then_steps_are_taken():
    with compared_port(setup(Dyadic()), {}, steps=2, warm_up=1) as port:
        assert port.answer.passed and port.answer.verdict.startswith("PARITY: 2 steps")
        port.run(2)


@pytest.mark.parametrize("global_batch, warmed_up", [(8, [3]), (16, [])])
def test_only_a_port_that_is_equal_is_warmed_up(global_batch, warmed_up, monkeypatch):
    job, other = setup(Dyadic()), setup(Dyadic(), 2, global_batch)
    ran = []
    monkeypatch.setattr(type(job), "modern_program", lambda self, dtype=None: other.legacy_program(dtype))
    monkeypatch.setattr(LegacyProgram, "run", lambda self, steps: ran.append(steps))
    with compared_port(job, {}, steps=2, warm_up=3) as port:
        assert port.answer.passed == bool(warmed_up)
    assert ran == warmed_up


def test_the_allocator_is_set_from_the_variables(mallopt_calls):
    tuned_process.set_allocator({"MALLOC_MMAP_THRESHOLD_": "512", "OTHER": "1"})
    assert mallopt_calls == [(-3, 512)]  # M_MMAP_THRESHOLD


@pytest.mark.parametrize("error", [InputError("--all_reduce: got 'x'"), Lost("the port ended by signal 11")])
def test_a_port_that_cannot_run_has_not_passed(error, monkeypatch):
    class Process:
        def __init__(self, *unused):
            pass

        def start(self, *unused):
            return self

        def observe(self, *unused):
            raise error

    monkeypatch.setattr(tuned_process, "ProgramProcess", Process)
    assert TunedProcess(setup(Dyadic()), Settings(), 2, 1).compare() == Answer(False, str(error))


@pytest.mark.slow
def test_a_process_has_its_variables_and_takes_steps():
    settings = Settings((("steps_per_call", 2),), (("TF_NUM_INTRAOP_THREADS", "1"),))
    with contextlib.closing(TunedProcess(setup(Dyadic()), settings, 2, 1)) as process:
        assert process.compare().passed
        process.run(3)
