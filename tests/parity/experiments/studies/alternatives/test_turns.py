"""Alternatives that take turns, on a made-up clock."""

import types

import pytest

from parity.experiments.studies.alternatives import turns
from parity.experiments.studies.alternatives.alternative import Alternative
from parity.experiments.studies.alternatives.turns import TurnPlan, Turns, TurnTimes
from tests.parity.speed.fakes import Clock


class MadeUpProcess:
    """Its programs take the time that their alternative's "setup" says; `log` has the blocks and rests of all."""

    log: list = []
    clock = Clock()

    def __init__(self, name, variables=None):
        self.name = name
        self.log.append(("process", name, variables))

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.log.append(("closed", self.name))

    def close_programs(self):
        self.log.append((self.name, "closes its programs"))

    def start(self, make, alternative, warm_up):
        return MadeUpProgram(self, alternative.setup.seconds)


class MadeUpProgram:
    """A program of a made-up process."""

    def __init__(self, process, seconds):
        self.process, self.seconds = process, seconds

    def wait_until_made(self):
        pass

    def run(self, steps):
        self.process.log.append((self.process.name, steps))
        self.process.clock.now += steps * self.seconds

    def rest(self):
        self.process.log.append((self.process.name, "rests"))

    def observe(self, function, *arguments):
        return function(self.process.name, *arguments)


@pytest.fixture
def log(monkeypatch):
    """The log of the made-up processes."""
    monkeypatch.setattr(turns, "ProgramProcess", MadeUpProcess)
    monkeypatch.setattr(MadeUpProcess, "log", [])
    MadeUpProcess.clock.replace_real_one(monkeypatch)
    return MadeUpProcess.log


def alternative(name, seconds, batch=4, streamed=False):
    setup = types.SimpleNamespace(seconds=seconds, job=types.SimpleNamespace(global_batch=batch))
    return Alternative(name, "legacy", setup, streamed, (("A", "1"),))


def timed(*alternatives):
    with Turns(TurnPlan(rounds=4, seconds=1.0), lambda *unused: None) as processes:
        return processes.time(alternatives, "title")


def test_the_times_are_those_of_an_example(log):
    times = timed(alternative("slow", 0.5), alternative("fast", 0.25), alternative("half the batch", 0.25, 2))
    assert [times.median(name) for name in ("slow", "fast", "half the batch")] == [0.125, 0.0625, 0.125]
    assert times.speed("fast", "slow").median == 2.0 and times.speed("slow", "fast").median == 0.5
    assert times.to_json()["slow"] == [0.125] * 4


def test_only_what_reads_ahead_has_a_lead_in_and_rests(log):
    timed(alternative("resident", 0.25), alternative("streamed", 0.25, streamed=True))
    assert ("resident", "rests") not in log and log.count(("streamed", "rests")) == 4
    assert log.count(("streamed", 2)) >= 4  # half of a block of four steps, before each


def test_a_name_has_one_process_which_ends_with_the_turns(log):
    with Turns(TurnPlan(rounds=2, seconds=1.0), lambda *unused: None) as processes:
        processes.time([alternative("towers", 0.5)], "title")
        processes.time([alternative("towers", 0.25), alternative("port", 0.25)], "title")
        assert processes.observe(alternative("towers", 1.0), lambda program, number: (program, number), 3)[1] == 3
        assert ("closed", "towers") not in log
        assert log.count(("towers", "closes its programs")) == 3  # before each of its programs is made
    started = [entry for entry in log if entry[0] == "process"]
    assert started == [("process", "towers", {"A": "1"}), ("process", "port", {"A": "1"})]
    assert log[-2:] == [("closed", "port"), ("closed", "towers")]


def test_a_ratio_has_an_interval():
    times = TurnTimes({"a": [2.0, 2.0, 4.0, 4.0], "b": [1.0, 1.0, 1.0, 1.0]})
    assert (times.speed("b", "a").low, times.speed("b", "a").high) == (2.0, 4.0)
