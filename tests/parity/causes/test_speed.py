import dataclasses
import threading
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf

from legacy.options import LegacyOptions
from modern.mirrored.program import ModernProgram
from modern.options import ModernOptions
from parity.causes import speed
from parity.causes.basics.cause import HIGH, MEDIUM
from parity.comparison.setup import Setup
from tests.cases import Dyadic
from tests.parity.causes.facts import HEALTHY
from workloads.job import Job
from workloads.sources import Synthetic

FAULTS = {fault.name: fault for cause in speed.CAUSES for fault in cause.faults}

#: Twelve steps of two replicas without a fault.


def recognized(**changes):
    found = speed.recognize_causes(dataclasses.replace(HEALTHY, **changes))
    return {entry.id: entry.finding for entry in found}


def test_a_healthy_run_has_no_cause():
    assert recognized() == {}


def test_an_eager_run_is_named_and_not_retraced():
    found = recognized(eager=True, traces=24)
    assert list(found) == ["EAGER_RUN"]
    assert found["EAGER_RUN"].sentence.startswith("strategy.run is called eagerly:")


@pytest.mark.parametrize("traces, causes", [(11, []), (12, ["RETRACE"]), (24, ["RETRACE"])])
def test_a_step_that_is_traced_each_time_is_named(traces, causes):
    assert list(recognized(traces=traces)) == causes


def test_the_sentence_of_a_retraced_step():
    assert recognized(traces=24)["RETRACE"].sentence == (
        "The step was traced 24 times in 12 steps: it is compiled anew each time."
    )


@pytest.mark.parametrize(
    "claimed, confidence, end",
    [
        (32.0, HIGH, "are 0.5 x the true ones (1/N, N being the number of replicas)."),
        (128.0, HIGH, "are 2 x the true ones (N, the number of replicas)."),
        (96.0, MEDIUM, "are 1.5 x the true ones."),
    ],
)
def test_miscounted_examples_are_named(claimed, confidence, end):
    found = recognized(claimed=claimed)
    assert list(found) == ["EXAMPLES_MISCOUNTED"]
    assert found["EXAMPLES_MISCOUNTED"].confidence == confidence
    assert found["EXAMPLES_MISCOUNTED"].sentence.startswith(
        f"{claimed:g} examples a step are reported and 64 are consumed"
    )
    assert found["EXAMPLES_MISCOUNTED"].sentence.endswith(end)


@pytest.mark.parametrize("claimed, named", [(64 * 1.0009, False), (64 * 1.0011, True)])
def test_examples_are_counted_within_one_in_a_thousand(claimed, named):
    assert ("EXAMPLES_MISCOUNTED" in recognized(claimed=claimed)) == named
    assert recognized(claimed=claimed, counted=0.0) == {}


@pytest.mark.parametrize(
    "returned, finished, read, named",
    [(1.0, 2.0, 0.1, True), (1.0, 1.9, 0.1, False), (0.125, 1.0, 0.25, True), (0.125, 1.0, 0.375, False)],
)
def test_a_clock_that_is_read_too_early_is_named(returned, finished, read, named):
    assert ("ASYNC_TIMING" in recognized(returned=returned, finished=finished, read=read)) == named


def test_the_sentence_of_a_clock_that_is_read_too_early():
    assert recognized(returned=0.125)["ASYNC_TIMING"].sentence == (
        "The calls for 12 steps return after 0.125 s and their work is done after 1.01 s: the clock was read before "
        "the work was done."
    )


@pytest.mark.parametrize(
    "streamed, confidence", [(500.0, None), (499.0, MEDIUM), (334.0, MEDIUM), (333.0, HIGH), (0.0, None)]
)
def test_an_input_that_takes_most_of_the_time_is_named(streamed, confidence):
    found = recognized(streamed=streamed).get("INPUT_BOUND")
    assert (found.confidence if found else None) == confidence


def test_the_sentence_of_a_slow_input():
    assert recognized(streamed=250.0)["INPUT_BOUND"].sentence == (
        "Steps on a batch that stays on the devices are 4.0 x as fast as steps on new batches: most of the time is "
        "spent on the input."
    )


@pytest.mark.parametrize("other", [{"eager": True}, {"traces": 24}, {"returned": 0.125}])
def test_another_cause_explains_a_slow_run(other):
    assert "INPUT_BOUND" not in recognized(streamed=100.0, **other)


class OneCpu(Setup):
    """A setup that divides no CPU."""

    def devices(self):
        return ["CPU:0"]


SETUP = OneCpu(Job(Dyadic(), 2, 8), Synthetic, LegacyOptions(), ModernOptions())


def faulty_program(fault):
    """Builds the fault's program without running `ModernProgram`'s constructor; returns (program, arguments)."""
    arguments = []
    with mock.patch.object(ModernProgram, "__init__", lambda self, *given: arguments.extend(given)):
        program = FAULTS[fault].inject(SETUP)
    program._job, program._step, program._start = SETUP.job, 0, lambda: None
    return program, arguments


def test_a_fault_runs_steps_eagerly():
    program, arguments = faulty_program("run_eagerly")
    assert (arguments[0], arguments[2].autodiff, arguments[3]) == (SETUP.job, "tape", ["CPU:0"])
    losses = iter([[np.float32(2)], [np.float32(1)]])
    program._run_once = lambda: [tf.constant(loss[0]) for loss in [next(losses)]]
    assert program.run(2) == [1.0]
    assert program._step == 2


def test_a_fault_traces_every_step():
    program, _ = faulty_program("step_number_as_python_int")
    traced = []
    program._run_once = lambda: traced.append(None) or [tf.constant(float(len(traced)))]
    assert program.run(3) == [3.0]
    assert program.run(1) == [4.0]
    assert (len(traced), program._step) == (4, 4)


def test_a_fault_returns_before_the_work_is_done():
    program, _ = faulty_program("clock_read_too_early")
    may_go_on, done = threading.Event(), []

    def run(self, steps):
        may_go_on.wait(10)
        done.append(steps)

    with mock.patch.object(ModernProgram, "run", run):
        assert [float(loss) for loss in program.run(5)] == [0.0, 0.0]
        assert done == []
        may_go_on.set()
        with mock.patch.object(ModernProgram, "state", lambda self: list(done)):
            assert program.state() == [5]


def test_a_fault_counts_one_replica_s_examples():
    program, _ = faulty_program("one_replicas_examples_counted")
    assert program.examples_per_step == 4


def test_a_fault_slows_the_input_down(monkeypatch):
    sources, naps = [], []
    monkeypatch.setattr(Setup, "modern_program", lambda self: sources.append(self.make_source(self.job)))
    monkeypatch.setattr(speed, "time", SimpleNamespace(sleep=naps.append))
    FAULTS["slow_input"].inject(SETUP)
    assert sources[0].batch(3)["x"].tolist() == list(range(8))
    assert naps == [0.02]
