"""The process of the port on one device: programs by number, their steps, and its failure."""

import pytest

from parity.speed import one_device_process, timing
from parity.speed.one_device_process import OneDeviceProcess, needs_own_process, serve_programs
from tests.cases import Dyadic, setup
from tests.parity.speed.fakes import Clock, MadeUpSetup, TimedProgram
from workloads.support.errors import Lost
from workloads.support.machine import threads


class Speaker:
    """Asks for some work, and counts the answers."""

    def __init__(self, *asked):
        self.asked, self.answers = list(asked), 0

    def listen(self):
        return self.asked.pop(0) if self.asked else None

    def say(self, message):
        self.answers += 1


class DirectChild:
    """Keeps the messages of a process that is not started."""

    def __init__(self, name, target):
        self.sent, self.lost = [], False

    def send(self, message):
        if self.lost:
            raise Lost("the port on one device ended")
        self.sent.append(message)

    def receive(self):
        if self.lost:
            raise Lost("the port on one device ended")


@pytest.fixture
def child(monkeypatch):
    monkeypatch.setattr(one_device_process, "Child", DirectChild)


def test_each_program_takes_its_own_steps(child, monkeypatch):
    process, log = OneDeviceProcess(), []
    first, second = process.start("resident", False), process.start("streamed", True)
    second.run(3)
    second.rest()
    first.run(2)
    process.close_programs()
    assert process.start("another", False)._number == 0
    monkeypatch.setattr(
        one_device_process,
        "one_device_program",
        lambda setup, parts: TimedProgram(Clock(), 1.0, log, f"{setup} {parts}"),
    )
    monkeypatch.setattr(timing, "wait_for_rest", lambda: log.append("rest"))
    speaker = Speaker(*process._child.sent)
    serve_programs(speaker)
    assert log == [
        "streamed True",
        "rest",
        "resident False",
        "closed streamed True",
        "closed resident False",
        "closed another False",
    ]
    assert speaker.answers == 3  # making a program is not waited for


def test_a_process_that_is_lost_has_failed_and_the_others_are_timed_on(child):
    process = OneDeviceProcess()
    program = process.start("resident", False)
    process._child.lost = True
    with pytest.raises(timing.RunnerFailed, match="^the port on one device ended$"):
        program.run(1)
    process.close_programs()


def test_there_is_one_process_for_all_measurements(child):
    one_device_process.own_process.cache_clear()
    assert one_device_process.own_process() is one_device_process.own_process()
    one_device_process.own_process.cache_clear()


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


@pytest.mark.slow
def test_a_real_process_takes_steps_with_its_programs_and_with_no_other():
    process = OneDeviceProcess()
    first = process.start(setup(Dyadic()), in_parts=True)
    first.run(2)
    process.close_programs()
    with pytest.raises(timing.RunnerFailed, match="^the port on one device failed: IndexError"):
        first.run(1)
