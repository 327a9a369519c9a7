import pytest

from parity.speed import timing


class Clocked:
    """Takes a fixed time a step, on a clock of its own."""

    def __init__(self, clock, seconds, log=None, name=""):
        self._clock, self._seconds, self._log, self._name = clock, seconds, log, name

    def run(self, steps):
        self._clock[0] += steps * self._seconds
        if self._log is not None:
            self._log.append(self._name)


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(timing.time, "perf_counter", lambda: now[0])
    return now


def test_blocks_are_interleaved_a_b_b_a(clock):
    log = []
    timing.interleave(Clocked(clock, 1, log, "A"), Clocked(clock, 1, log, "B"), 5, 4)
    assert "".join(log) == "ABBAABBA"


def test_ratio_is_right_over_left(clock):
    blocks = timing.interleave(Clocked(clock, 0.5), Clocked(clock, 0.25), 4, 10)
    seen = timing.ratio(blocks)
    assert (seen.median, seen.low, seen.high, seen.outliers) == (2.0, 2.0, 2.0, 0)
    assert len(blocks.left) == len(blocks.right) == 10


def test_more_blocks_while_asked_for(clock):
    blocks = timing.interleave(Clocked(clock, 1), Clocked(clock, 1), 1, 4, lambda taken: len(taken.left) < 8)
    assert len(blocks.left) == 8


def test_drift_that_both_sides_share_leaves_the_ratio_alone():
    drift = [1.0 + 0.1 * i for i in range(12)]
    blocks = timing.Blocks(1, [2 * d for d in drift], drift)
    assert timing.ratio(blocks).median == 2.0


@pytest.mark.parametrize(
    "low, high, verdict",
    [
        (1.06, 1.2, "faster"),
        (0.97, 1.04, "within 5 %"),
        (0.8, 0.94, "slower"),
        (1.0, 1.1, "undecided"),
        (0.9, 1.0, "undecided"),
    ],
)
def test_verdicts(low, high, verdict):
    assert timing.verdict(timing.Ratio((low + high) / 2, low, high, 0)) == verdict


def test_outliers_are_counted_and_kept():
    blocks = timing.Blocks(1, [1.0, 1.01, 0.99, 1.02, 0.98, 1.01, 1.01, 0.99, 1.0, 9.0], [1.0] * 10)
    assert timing.ratio(blocks).outliers == 1


def test_a_steady_drift_within_a_group_cancels():
    clock = iter(range(100))
    left, right = [], []
    for _ in range(5):
        times = [1.0 + 0.1 * next(clock) for _ in range(4)]  # A B B A, slower all the time
        left += [times[0], times[3]]
        right += [times[1], times[2]]
    assert timing.ratio(timing.Blocks(1, left, right)).median == pytest.approx(1.0, abs=1e-12)


def test_the_interval_covers_what_it_is_made_of():
    blocks = timing.Blocks(1, [1.0, 1.2, 0.9, 1.1, 1.05, 0.95, 1.15, 1.0, 1.0, 1.1], [1.0] * 10)
    seen = timing.ratio(blocks)
    assert 0.9 <= seen.low <= seen.median <= seen.high <= 1.2
    assert seen.low < seen.high


def test_block_steps_are_a_multiple(clock):
    assert timing.block_steps([Clocked(clock, 0.01), Clocked(clock, 0.02)], 10, 0.6) == 30
    assert timing.block_steps([Clocked(clock, 9.0)], 10, 0.5) == 10
