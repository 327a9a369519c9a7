"""A process that holds programs: each by its number, made in the background, closed together."""

import os
import queue
import threading

import pytest

from parity.experiments.studies.alternatives.alternative import Alternative, warmed_up
from parity.speed import program_process, timing
from parity.speed.program_process import ProgramProcess
from tests.cases import Dyadic, setup
from tests.parity.speed.fakes import Clock, TimedProgram
from workloads.support.errors import Lost


class Thread:
    """Stands for a `Child`: its target runs in a thread, which an exception ends."""

    def __init__(self, name, target, variables=None):
        self.name, self.asked, self.said, self.failed = name, queue.Queue(), queue.Queue(), False
        self.listen, self.say = self.asked.get, self.said.put
        threading.Thread(target=self.serve, args=(target,), daemon=True).start()

    def serve(self, target):
        try:
            target(self)
        except Exception as error:
            self.say(error)

    def send(self, message):
        if self.failed:
            raise Lost(f"{self.name} ended")
        self.asked.put(message)

    def receive(self):
        answer = Lost(f"{self.name} ended") if self.failed else self.said.get(timeout=60)
        if isinstance(answer, Exception):
            self.failed = True
            raise answer if isinstance(answer, Lost) else Lost(f"{self.name} failed: {answer!r}")
        return answer

    def kill(self):
        self.asked.put(None)


@pytest.fixture
def log(monkeypatch):
    """What the programs of threads do."""
    log = []
    monkeypatch.setattr(program_process, "Child", Thread)
    monkeypatch.setattr(timing, "wait_for_rest", lambda: log.append("rest"))
    return log


def named(log, name):
    log.append("made " + name)
    return TimedProgram(Clock(), 1.0, log, name)


def failing():
    raise ValueError("no such program")


def test_each_program_takes_its_own_steps_and_all_are_closed_together(log):
    with ProgramProcess("a process") as process:
        first, second = process.start(named, log, "first"), process.start(named, log, "second")
        second.run(3)
        second.rest()
        first.run(2)
        assert second.observe(lambda program, more: program.describe()["name"] + more, " one") == "second one"
        process.close_programs()
        process.start(named, log, "third").run(1)
    made, closed = ["made first", "made second"], ["closed second", "closed first"]
    assert log == [*made, "second", "rest", "first", *closed, "made third", "third"]


def test_a_closed_program_takes_no_steps_of_another(log):
    process = ProgramProcess("a process")
    first = process.start(named, log, "first")
    process.close_programs()
    process.start(named, log, "second").wait_until_made()
    with pytest.raises(Lost, match="^a process failed: KeyError"):
        first.run(1)
    assert log == ["made first", "closed first", "made second", "closed second"]


def test_a_program_that_cannot_be_made_fails_when_it_is_waited_for(log):
    process = ProgramProcess("a process")
    program = process.start(failing)
    with pytest.raises(Lost, match="^a process failed: ValueError"):
        program.wait_until_made()
    for use in (lambda: program.run(1), program.rest, process.start(named, log, "later").wait_until_made):
        with pytest.raises(Lost, match="^a process ended$"):
            use()
    process.close_programs()
    assert log == []


def seen(program, name):
    """What a test asks the process: the program's side, its losses, an environment variable."""
    return program.side, [float(loss) for loss in program.run(1)], os.environ.get(name)


def test_a_real_process_makes_programs_one_after_another():
    made = setup(Dyadic(), 2)
    with ProgramProcess("a side", {"OF_THE_PROCESS": "set"}) as process:
        towers = process.start(warmed_up, Alternative("towers", "legacy", made), 0)
        before = towers.observe(seen, "OF_THE_PROCESS")
        process.close_programs()
        port = process.start(warmed_up, Alternative("port", "modern", made), 1)
        port.wait_until_made()
        port.run(2)
        port.rest()
        after = port.observe(seen, "NOT_SET")
    assert before == ("legacy", [3.0, 11.0], "set")  # mean(x) * 1 * 2 of 0..3 and 4..7
    assert after[0] == "modern" and after[2] is None and after[1][1] < 11.0  # three steps further
