"""Interleaved timing, with programs on a clock of their own."""

import pytest

from parity.speed import timing
from tests.parity.speed.fakes import Clock, TimedProgram


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    clock.replace_real_one(monkeypatch)
    return clock


def test_blocks_are_interleaved_a_b_b_a(clock):
    log = []
    timing.time_blocks(TimedProgram(clock, 1, log, "A"), TimedProgram(clock, 1, log, "B"), 5, 4)
    assert "".join(log) == "ABBAABBA"


def test_each_side_gets_its_own_times(clock):
    times = timing.time_blocks(TimedProgram(clock, 0.5), TimedProgram(clock, 0.25), 4, 4)
    assert times == timing.BlockTimes(4, [2.0] * 4, [1.0] * 4)


def test_more_blocks_while_asked_for(clock):
    blocks = timing.time_blocks(TimedProgram(clock, 1), TimedProgram(clock, 1), 1, 4, lambda taken: len(taken.left) < 8)
    assert len(blocks.left) == 8


def test_progress_is_told_after_each_group(clock):
    done = []
    timing.time_blocks(TimedProgram(clock, 1), TimedProgram(clock, 1), 1, 6, progress=done.append)
    assert done == [2, 4, 6]


def test_seconds_of_a_run(clock):
    assert timing.seconds_of_run(TimedProgram(clock, 0.5), 3) == 1.5


def test_block_steps_are_a_multiple(clock):
    assert timing.block_steps([TimedProgram(clock, 0.01), TimedProgram(clock, 0.02)], 10, 0.6) == 30
    assert timing.block_steps([TimedProgram(clock, 9.0)], 10, 0.5) == 10
