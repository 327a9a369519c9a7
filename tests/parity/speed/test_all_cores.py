"""The port on one device with all cores: when it needs a process, the choice of the faster way, its failure."""

import pytest

from parity.speed import all_cores, timing
from parity.speed.all_cores import FasterProgram, needs_own_process
from tests.cases import Dyadic, setup
from tests.parity.speed.fakes import Clock, MadeUpSetup, TimedProgram
from workloads.support.errors import InputError, Lost, UserError
from workloads.support.machine import threads


class Remote(TimedProgram):
    """A program in another process, which may be lost."""

    error: Exception | None = None

    def run(self, steps):
        if self.error is not None:
            raise self.error
        super().run(steps)

    def rest(self):
        if self.error is not None:
            raise self.error
        self._log.append("rest")


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    clock.replace_real_one(monkeypatch)
    return clock


@pytest.mark.parametrize("seconds, chosen", [(0.25, "all cores"), (1.0, "1 core an op")])
def test_the_faster_of_the_two_is_run_and_rests_in_its_own_process(clock, seconds, chosen):
    log = []
    faster = FasterProgram(TimedProgram(clock, 0.5, log, "here"), Remote(clock, seconds, log, "there"), 1)
    assert faster.choose() == chosen
    log.clear()
    faster.run(2)
    faster.rest()
    assert log == (["there", "rest"] if chosen == "all cores" else ["here"])


@pytest.mark.parametrize("error", [Lost("the port on one device ended"), InputError("no such file")])
def test_a_process_that_fails_has_failed_and_the_others_are_timed_on(clock, error):
    there = Remote(clock, 0.25, [])
    faster = FasterProgram(TimedProgram(clock, 0.5), there, 1)
    faster.choose()
    there.error = error
    for step in (faster.choose, lambda: faster.run(1), faster.rest):
        with pytest.raises(timing.RunnerFailed, match=f"^{error}$"):
            step()


def test_an_error_of_the_users_own_code_is_one_of_the_command(clock):
    there = Remote(clock, 0.25, [])
    there.error = UserError("their model")
    with pytest.raises(UserError):
        FasterProgram(TimedProgram(clock, 0.5), there, 1).choose()


def test_there_is_one_process_for_all_measurements(monkeypatch):
    monkeypatch.setattr(all_cores, "ProgramProcess", lambda name: object())
    all_cores.own_process.cache_clear()
    assert all_cores.own_process() is all_cores.own_process()
    all_cores.own_process.cache_clear()


def test_it_is_needed_where_replicas_have_a_part_of_the_cores(monkeypatch):
    monkeypatch.setattr(threads, "cores", lambda: 4)
    clock = Clock()
    assert [needs_own_process(MadeUpSetup(clock, {}, threads=count)) for count in (0, 1, 3, 4)] == [
        False,
        True,
        True,
        False,
    ]
    assert not needs_own_process(setup(Dyadic()))  # for identical bits
