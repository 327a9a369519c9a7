"""Progress, on a made-up clock, with and without a terminal."""

import pytest

from parity.reports import progress
from parity.reports.progress import Progress


@pytest.fixture
def clock(monkeypatch):
    """Seconds, in a list of one."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_short_work_shows_nothing_without_a_terminal(clock, capsys):
    shown = Progress("verify")
    clock[0] += 9.5
    shown.update(1, 2)
    shown.update(2, 2)
    shown.done()
    assert capsys.readouterr().err == ""


def test_a_line_every_ten_seconds_and_one_at_the_end(clock, capsys):
    shown = Progress("verify")
    for done in range(1, 6):
        clock[0] += 6
        shown.update(done, 5, "text")
    shown.done()
    assert capsys.readouterr().err.splitlines() == [
        "verify: 2/5 12 s text",
        "verify: 4/5 24 s text",
        "verify: 5/5 30 s text",
    ]


def test_one_moving_line_on_a_terminal_ten_times_a_second_at_most(clock, capsys, monkeypatch):
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True)
    shown = Progress("verify")
    for done, seconds in ((1, 0.0625), (2, 0.0625), (3, 0.0625), (4, 0.0)):
        clock[0] += seconds
        shown.update(done, 4)
    shown.done()
    assert capsys.readouterr().err == "\r\x1b[Kverify: 2/4 0 s \r\x1b[Kverify: 4/4 0 s \r\x1b[K"
