"""Texts of bars, durations and rates; the rate is that of the last seconds."""

from workloads.progress.bar import WINDOW, Rate, bar_text, duration_text, rate_text


def test_a_bar_is_empty_full_and_never_longer():
    assert bar_text(0, 4, plain=True) == "." * 24
    assert bar_text(3, 4, plain=True) == "#" * 18 + "." * 6
    assert bar_text(5, 4, plain=True) == "#" * 24


def test_numbers_for_people():
    assert [duration_text(seconds) for seconds in (0.9, 59, 60, 3600)] == ["0 s", "59 s", "1 min 0 s", "1 h 0 min"]
    assert [rate_text(rate) for rate in (0.5, 99.96, 250.0)] == ["2.0 s/step", "100.0 steps/s", "250 steps/s"]


def test_the_rate_forgets_a_slow_start():
    rate = Rate()
    assert rate.per_second is None and rate.seconds_left(0, 10) is None
    rate.add(0.0, 0)
    rate.add(10.0, 1)  # traced
    assert rate.per_second == 0.1
    for second in range(11, 12 + int(WINDOW)):
        rate.add(float(second), 1 + 2 * (second - 10))
    assert rate.per_second == 2.0


def test_other_steps_have_their_own_rate():
    rate = Rate()
    for now, done in ((0.0, 0), (1.0, 100), (2.0, 0), (4.0, 1)):
        rate.add(now, done)
    assert rate.per_second == 0.5
