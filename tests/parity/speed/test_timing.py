"""Interleaved timing, with programs on a clock of their own."""

import itertools

import pytest

from parity.speed import timing
from tests.parity.speed.fakes import Clock, FailingProgram, TimedProgram


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    clock.replace_real_one(monkeypatch)
    return clock


def programs(clock, log, names):
    return [TimedProgram(clock, 1, log, name) for name in names]


def blocks(runners, steps, lead_ins=None):
    return [timing.Block(*block) for block in zip(runners, steps, lead_ins or [0] * len(runners))]


def test_two_programs_are_interleaved_a_b_b_a(clock):
    log = []
    timing.time_rounds(blocks(programs(clock, log, "AB"), [5, 5]), 4)
    assert "".join(log) == "ABBABAAB"


def test_three_programs_run_forth_and_back_and_begin_in_turn(clock):
    log = []
    timing.time_rounds(blocks(programs(clock, log, "ABC"), [1, 1, 1]), 6)
    assert "".join(log) == "ABCCBA" + "BCAACB" + "CABBAC"


def test_over_a_whole_turn_every_program_stands_in_every_place_equally_often():
    orders = list(itertools.islice(timing.round_orders(4), 8))
    for place in range(4):
        assert sorted(order[place] for order in orders) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_each_program_gets_its_own_times(clock):
    times = timing.time_rounds(blocks([TimedProgram(clock, 0.5), TimedProgram(clock, 0.25)], [4, 8]), 4)
    assert times == timing.RoundTimes([4, 8], [[2.0] * 4, [2.0] * 4])
    assert times.seconds_per_step(0) == [0.5] * 4 and times.seconds_per_step(1) == [0.25] * 4


def test_more_rounds_while_asked_for(clock):
    made = [TimedProgram(clock, 1), TimedProgram(clock, 1)]
    times = timing.time_rounds(blocks(made, [1, 1]), 4, lambda taken: taken.rounds < 8)
    assert times.rounds == 8 and len(times.seconds[1]) == 8


def test_progress_is_reported_after_each_two_rounds(clock):
    done = []
    timing.time_rounds(blocks([TimedProgram(clock, 1), TimedProgram(clock, 1)], [1, 1]), 6, progress=done.append)
    assert done == [2, 4, 6]


def test_a_program_that_fails_is_left_out_and_the_others_go_on(clock):
    log = []
    made = [*programs(clock, log, "AB"), FailingProgram(clock, 1, after=3)]
    times = timing.time_rounds(blocks(made, [1, 1, 1]), 6)
    assert times.failures == {2: "died"} and times.seconds[2] == []
    assert times.rounds == 6 and len(times.seconds[0]) == len(times.seconds[1]) == 6


def test_nothing_is_timed_for_ever_if_all_fail(clock):
    times = timing.time_rounds(blocks([FailingProgram(clock, 1, after=0)], [1]), 4)
    assert times.failures == {0: "died"} and times.rounds == 0


def test_steps_of_a_lead_in_are_not_timed(clock, monkeypatch):
    rests = []
    monkeypatch.setattr(timing, "wait_for_rest", lambda: rests.append(clock.now))
    times = timing.time_rounds(blocks([TimedProgram(clock, 1), TimedProgram(clock, 1)], [4, 4], [3, 0]), 2)
    assert times.seconds == [[4.0, 4.0], [4.0, 4.0]]
    assert clock.now == 2 * (3 + 4) + 2 * 4 and len(rests) == 2


@pytest.mark.parametrize("busy, looks", [([1.0] * 3, 4), ([], 1)])
def test_the_next_block_waits_until_the_process_is_at_rest(busy, looks, monkeypatch):
    work, slept = list(busy), []
    now = [0.0]

    def sleep(seconds):
        slept.append(seconds)
        now[0] += seconds * (work.pop() if work else 0.1)

    monkeypatch.setattr(timing.time, "process_time", lambda: now[0])
    monkeypatch.setattr(timing.time, "sleep", sleep)
    timing.wait_for_rest()
    assert len(slept) == looks


def test_a_process_that_never_rests_is_not_waited_for_for_ever(monkeypatch):
    ticks = itertools.count()
    slept = []
    monkeypatch.setattr(timing.time, "process_time", lambda: next(ticks))
    monkeypatch.setattr(timing.time, "sleep", slept.append)
    timing.wait_for_rest()
    assert sum(slept) == pytest.approx(timing.LONGEST_REST)


def test_seconds_of_a_run(clock):
    assert timing.seconds_of_run(TimedProgram(clock, 0.5), 3) == 1.5


@pytest.mark.parametrize(
    "per_step, call, seconds, steps",
    [
        (0.015625, 10, 0.625, 40),  # whole calls
        (0.015625, 10, 0.5, 30),
        (0.0625, 10, 0.5, 8),  # a call takes longer than a block: a part of one
        (8.0, 10, 0.5, 1),
    ],
)
def test_the_steps_of_a_block(clock, per_step, call, seconds, steps):
    assert timing.block_steps(TimedProgram(clock, per_step), call, seconds) == steps


def test_the_steps_of_a_block_are_not_those_of_a_call_that_costs_more_than_its_steps(clock):
    class Slow(TimedProgram):
        def run(self, steps):
            super().run(steps + 16)  # as much as 16 steps for the call

    assert timing.block_steps(Slow(clock, 0.015625), 1000, 1.0) == 32  # 16 steps take 0.5 s


def test_a_clock_that_stands_still_ends_the_search(clock):
    assert timing.block_steps(TimedProgram(clock, 0.0), 10, 1.0) == 10


def test_timing_ends_early_after_whole_rounds_if_it_is_asked_to(clock):
    made, asked = [TimedProgram(clock, 1), TimedProgram(clock, 1)], iter([False, True])
    times = timing.time_rounds(blocks(made, [1, 1]), 20, stop=lambda: next(asked))
    assert [len(seconds) for seconds in times.seconds] == [4, 4]
