"""Speed measurement of made-up programs on a clock of their own; parity is given."""

import pytest

from parity.comparison.result import Verification
from parity.speed import measurement
from parity.speed.measurement import MeasurementPlan, SpeedResult, Throughput, measure_speed
from parity.speed.timing import BlockTimes
from tests.parity.speed.fakes import Clock, MadeUpSetup

PLAN = MeasurementPlan(warmup=4, blocks=4, most_blocks=8, seconds=10.0, parity_steps=3)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    clock.replace_real_one(monkeypatch)
    return clock


@pytest.fixture
def verified(monkeypatch):
    """Arguments of each verification; it passes unless "passed" is set to False here."""
    calls = {"passed": True}

    def verify(left, right, job, steps, **arguments):
        calls.update(arguments, steps=steps, sides=(left.describe(), right.describe()))
        arguments["progress"](steps, None)
        return Verification("auto", "locked", steps, calls["passed"])

    monkeypatch.setattr(measurement, "verify", verify)
    return calls


def ignore(*line):
    """A progress that shows nothing."""


def test_the_port_that_takes_half_the_time_is_twice_as_fast(clock, verified):
    result = measure_speed(MadeUpSetup(clock, {"feed": 0.5}, modern_seconds=0.25), PLAN, ignore)
    assert (result.ratio.median, result.verdict) == (2.0, "faster")
    assert result.startup == {"left": 2.0, "right": 1.0}
    assert result.blocks == BlockTimes(20, [10.0] * 4, [5.0] * 4)  # 10 s of 0.5 s each, a multiple of 10 steps
    assert result.settings == {"left": {"name": "legacy"}, "right": {"name": "modern"}}
    assert result.input_trials == {}


def test_the_timed_programs_are_compared_step_by_step_first(clock, verified):
    shown = []
    measure_speed(MadeUpSetup(clock, {"feed": 0.5}), PLAN, lambda *line: shown.append(line))
    assert (verified["steps"], verified["mode"], verified["tolerance_name"]) == (3, "locked", "auto")
    assert verified["references"] is None and verified["units"] == {}
    assert shown == [("parity", 3, 3), ("timing, blocks per side", 2, 4), ("timing, blocks per side", 4, 4)]


def test_without_parity_nothing_is_timed(clock, verified):
    verified["passed"] = False
    result = measure_speed(MadeUpSetup(clock, {"feed": 0.5}), PLAN, ignore)
    assert (result.ratio, result.verdict, result.blocks) == (None, "no parity", BlockTimes(0))
    assert clock.now == 0.0
    assert result.examples_per_second(64) == {}


def test_a_step_that_is_traced_while_it_is_timed_is_refused(clock, verified):
    with pytest.raises(RuntimeError, match="traced inside a timed block"):
        measure_speed(MadeUpSetup(clock, {"feed": 0.5}, traces_of_run=1), PLAN, ignore)


def test_more_blocks_are_timed_while_the_verdict_is_undecided(clock, verified, monkeypatch):
    monkeypatch.setattr(measurement, "speed_verdict", lambda ratio: "undecided")
    result = measure_speed(MadeUpSetup(clock, {"feed": 0.5}), PLAN, ignore)
    assert len(result.blocks.left) == len(result.blocks.right) == PLAN.most_blocks


def test_the_input_is_chosen_first_if_asked_for(clock, verified):
    seconds = {"feed": 1.0, "split": 0.5, "queue": 2.0, "dataset": 2.0}
    plan = MeasurementPlan(warmup=4, blocks=4, most_blocks=8, seconds=10.0, tune_input=True)
    result = measure_speed(MadeUpSetup(clock, seconds, modern_seconds=0.5), plan, ignore)
    assert result.setup.legacy.input == "split" and result.input_trials == seconds
    assert result.verdict == "within 5 %"


def test_throughput_is_the_median_over_blocks():
    blocks = BlockTimes(5, [2.0, 4.0, 2.0], [1.0, 1.0, 1.0])
    result = SpeedResult(None, Verification("auto", "locked"), {}, blocks=blocks)
    # 8 x 5 examples: 20, 10 and 20 per second, whose deviations from 20 are 0, 10 and 0
    assert result.examples_per_second(8) == {"left": Throughput(20.0, 0.0), "right": Throughput(40.0, 0.0)}
    blocks.left = [2.0, 4.0, 1.0]  # 20, 10 and 40 per second: deviations 0, 10 and 20
    assert result.examples_per_second(8)["left"] == Throughput(20.0, 1.4826 * 10 / 20)
