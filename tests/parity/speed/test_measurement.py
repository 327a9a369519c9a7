"""Speed measurement of made-up programs on a clock of their own; parity is given."""

import contextlib
import dataclasses

import pytest

from parity.comparison.result import Verification
from parity.processes.interruption import Interruption
from parity.speed import entrants, measurement, timing
from parity.speed.entrants import Entrant
from parity.speed.joint_verification import RivalVerification
from parity.speed.measurement import FEWEST_ROUNDS, MeasurementPlan, measure_speed
from parity.speed.names import RESIDENT, STREAMED
from parity.speed.speed_result import Contestant
from tests.parity.speed.fakes import Clock, FailingProgram, MadeUpSetup, TimedProgram
from workloads.support.machine import threads

PLAN = MeasurementPlan(warmup=4, blocks=4, most_blocks=8, seconds=10.0, parity_steps=3)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    clock.replace_real_one(monkeypatch)
    monkeypatch.setattr(timing, "wait_for_rest", lambda: None)
    return clock


@pytest.fixture
def verified(monkeypatch):
    """Arguments of each comparison; the programs pass but for those whose names are in "different"."""
    calls = {"different": [], "compared": []}

    def verify(left, rivals, job, steps, references, progress):
        calls["compared"].append((left.describe()["name"], [r.program.describe()["name"] for r in rivals], steps))
        progress(steps)
        different = calls["different"]
        results = [
            Verification("auto", "locked", steps, rival.program.describe()["name"] not in different) for rival in rivals
        ]
        return [RivalVerification(result, "floor") for result in results]

    monkeypatch.setattr(entrants, "verify_together", verify)
    monkeypatch.setattr(entrants.one_device, "reason_for_parts", lambda job: "")

    def one_device(setup, in_parts, dtype=None):
        return TimedProgram(setup.clock, 0.25, name="parts" if in_parts else "whole")

    monkeypatch.setattr(entrants.one_device, "one_device_program", one_device)
    return calls


def ignore(*line):
    """A progress that shows nothing."""


def by_place(result):
    return {(contestant.name, contestant.input): contestant for contestant in result.contestants}


def measured(setup, plan=PLAN, others=()):
    return measure_speed({RESIDENT: setup}, plan, ignore, others)


def test_the_port_that_takes_half_the_time_is_twice_as_fast(clock, verified):
    result = measured(MadeUpSetup(clock, {"feed": 0.5}, modern_seconds=0.25))
    assert (result.port_to_legacy(RESIDENT).median, result.verdict(RESIDENT)) == (2.0, "faster")
    legacy, modern, one_device = result.contestants
    assert (legacy.startup, modern.startup, one_device.startup) == (2.0, 1.0, 1.0)
    assert (legacy.steps, legacy.seconds) == (20, [10.0] * 4)  # 10 s of 0.5 s each, a multiple of 10 steps
    assert (modern.steps, modern.seconds) == (40, [10.0] * 4)
    assert legacy.settings == {"name": "legacy, feed"} and modern.settings == {"name": "modern"}
    assert result.input_trials == {}


def test_all_programs_are_timed_with_both_inputs(clock, verified):
    setup = MadeUpSetup(clock, {"feed": 0.5})
    result = measure_speed({RESIDENT: setup, STREAMED: setup}, PLAN, ignore)
    assert list(by_place(result)) == [
        (name, kind) for kind in (RESIDENT, STREAMED) for name in ("legacy", "modern", "one device")
    ]
    assert all(len(contestant.seconds) == 4 for contestant in result.contestants)


def test_only_streamed_batches_have_steps_before_the_clock(clock, verified):
    setup = MadeUpSetup(clock, {"feed": 1.0})
    resident = measure_speed({RESIDENT: setup}, PLAN, ignore)
    at = clock.now
    streamed = measure_speed({STREAMED: setup}, PLAN, ignore)
    timed = sum(sum(contestant.seconds) for contestant in streamed.contestants)
    assert timed == sum(sum(contestant.seconds) for contestant in resident.contestants)
    assert clock.now - at == at + timed / 2


def test_the_programs_that_are_timed_are_compared_step_by_step_first(clock, verified):
    shown = []
    setup = MadeUpSetup(clock, {"feed": 0.5})
    measure_speed({RESIDENT: setup}, PLAN, lambda *line: shown.append(line))
    assert verified["compared"] == [("legacy, feed", ["modern", "whole"], 3)]
    text = "timing, blocks per program"
    assert shown == [("parity", 3, 3), (text, 2, 4), (text, 4, 4)]


@pytest.mark.parametrize(
    "kind, tried, first, sections", [(RESIDENT, (), 4.0, 1), (STREAMED, ("feed", "split"), 2.5, 3)]
)
def test_first_steps_are_taken_beside_other_processes_and_all_else_alone(kind, tried, first, sections, clock, verified):
    spans = []

    @contextlib.contextmanager
    def alone():
        start = clock.now
        yield
        spans.append((start, clock.now))

    setup = MadeUpSetup(clock, {"feed": 0.5, "split": 1.0}, modern_seconds=0.25)
    result = measure_speed({kind: setup}, dataclasses.replace(PLAN, tried_inputs=tried), ignore, alone=alone)
    assert len(spans) == sections and spans[0][0] == first  # 4 steps of each program, or 5 of the first that is tried
    timed = sum(sum(contestant.seconds) for contestant in result.contestants)
    assert spans[-1][1] - spans[-1][0] >= timed and spans[-1][1] == clock.now


@pytest.mark.parametrize("seconds, steps, cores", [(0.125, 80, "all cores"), (0.5, 40, "3 cores an op")])
def test_where_replicas_share_the_cores_the_faster_way_on_one_device_is_timed(
    seconds, steps, cores, clock, verified, monkeypatch
):
    log = []

    class MadeUpProcess:
        def start(self, make, setup, in_parts):
            log.append(in_parts)
            return TimedProgram(clock, seconds)

        def close_programs(self):
            log.append("closed")

    monkeypatch.setattr(measurement, "own_process", MadeUpProcess)
    monkeypatch.setattr(threads, "cores", lambda: 6)

    def one_device(**setup):
        return by_place(measured(MadeUpSetup(clock, {"feed": 0.5}, **setup)))["one device", RESIDENT]

    alone = one_device()
    assert (alone.steps, alone.note, log) == (40, "", [])  # 10 s at 0.25 s a step
    shared = one_device(threads=3)
    assert (shared.steps, shared.note, log) == (steps, cores, [False, "closed"])
    plan = dataclasses.replace(PLAN, all_cores=False)
    only_here = by_place(measured(MadeUpSetup(clock, {"feed": 0.5}, threads=3), plan))["one device", RESIDENT]
    assert (only_here.steps, only_here.note, len(log)) == (40, "", 2)


@pytest.mark.parametrize("inputs", [(RESIDENT,), (RESIDENT, STREAMED)])
def test_without_parity_nothing_is_timed(inputs, clock, verified):
    verified["different"] = ["modern"]
    setup = MadeUpSetup(clock, {"feed": 0.5})
    result = measure_speed(dict.fromkeys(inputs, setup), PLAN, ignore)
    assert not result.has_parity and result.verdict(RESIDENT) == "no parity"
    assert result.port_to_legacy(RESIDENT) is None and not any(c.seconds for c in result.contestants)
    assert clock.now == 0.0


def test_the_whole_batch_that_is_other_mathematics_is_taken_in_parts(clock, verified):
    verified["different"] = ["whole"]
    setup = MadeUpSetup(clock, {"feed": 0.5})
    result = measure_speed({RESIDENT: setup, STREAMED: setup}, PLAN, ignore)
    compared = [names for _, names, _ in verified["compared"]]
    with_float64 = ["whole"]
    assert compared == [["modern", "whole"], with_float64, ["parts"], ["modern", "parts"]]  # not "whole" again
    lone = by_place(result)["one device", RESIDENT]
    assert lone.note == "the batch in 2 parts: the whole batch at once is other mathematics"
    assert lone.seconds and lone.settings == {"name": "parts"}


def test_no_speed_of_one_device_that_is_not_equal(clock, verified):
    verified["different"] = ["whole", "parts"]
    result = measured(MadeUpSetup(clock, {"feed": 0.5}))
    lone = by_place(result)["one device", RESIDENT]
    assert (lone.problem, lone.seconds) == ("not equal to the towers", [])
    assert result.port_to_legacy(RESIDENT) is not None


def test_a_job_that_one_device_cannot_run_says_why(clock, verified):
    setup = MadeUpSetup(clock, {"feed": 0.5})
    late = dataclasses.replace(setup, job=dataclasses.replace(setup.job, staleness=1))
    lone = by_place(measured(late))["one device", RESIDENT]
    assert (lone.note, lone.problem, lone.seconds) == ("late updates need replicas", "", [])


def test_a_step_that_is_traced_while_it_is_timed_is_refused(clock, verified):
    with pytest.raises(RuntimeError, match="traced inside a timed block"):
        measured(MadeUpSetup(clock, {"feed": 0.5}, traces_of_run=1))


def test_more_rounds_are_timed_while_a_verdict_is_undecided(clock, verified, monkeypatch):
    monkeypatch.setattr(measurement, "speed_verdict", lambda ratio: "undecided")
    result = measured(MadeUpSetup(clock, {"feed": 0.5}))
    assert {len(contestant.seconds) for contestant in result.contestants} == {PLAN.most_blocks}


def test_the_input_is_chosen_first_if_asked_for(clock, verified):
    seconds = {"feed": 1.0, "split": 0.5, "queue": 2.0, "dataset": 2.0}
    plan = MeasurementPlan(warmup=4, blocks=4, most_blocks=8, seconds=10.0, tried_inputs=tuple(seconds))
    setup = MadeUpSetup(clock, seconds, modern_seconds=0.5)
    result = measure_speed({RESIDENT: setup, STREAMED: setup}, plan, ignore)
    assert result.setups[STREAMED].legacy.input == "split" and result.input_trials == seconds
    assert result.setups[RESIDENT] == result.setup == setup
    assert result.verdict(STREAMED) == "within 5 %"


def other(program, **fields):
    return Entrant(Contestant("mine", RESIDENT, 32, **fields), program)


def test_another_program_is_timed_in_the_same_rounds_and_counted_by_its_own_examples(clock, verified):
    setup = MadeUpSetup(clock, {"feed": 0.5}, modern_seconds=0.25)
    result = measured(setup, others=[other(TimedProgram(clock, 0.25))])
    mine = by_place(result)["mine", RESIDENT]
    assert len(mine.seconds) == 4
    assert result.ratio_to("modern", mine).median == 0.5  # 32 examples a step, and the port 64


@pytest.mark.parametrize("after", [0, 1, 2, 5])
def test_another_program_that_fails_has_no_speed_and_the_rest_has(after, clock, verified):
    setup = MadeUpSetup(clock, {"feed": 0.5})
    result = measured(setup, others=[other(FailingProgram(clock, 1.0, after))])
    mine = by_place(result)["mine", RESIDENT]
    assert (mine.problem, mine.seconds) == ("died", [])
    assert result.ratio_to("modern", mine) is None and result.verdict(RESIDENT) == "slower"


class AskedToEnd(Interruption):
    """An interruption that comes as soon as there are ratios to report."""

    def keep_results(self, raises=False):
        self.asked = True


def test_an_interrupted_measurement_has_the_ratios_of_its_rounds(clock, verified):
    setup, plan = MadeUpSetup(clock, {"feed": 0.5}), dataclasses.replace(PLAN, blocks=20, most_blocks=20)
    result = measure_speed({RESIDENT: setup}, plan, ignore, (), AskedToEnd())
    assert result.partial and result.has_parity
    assert {len(contestant.seconds) for contestant in result.contestants} == {FEWEST_ROUNDS}
    assert result.port_to_legacy(RESIDENT).median > 0
