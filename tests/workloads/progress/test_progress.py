"""Progress on a made-up clock: its line in a pipe, and its lines on a terminal."""

import types

import pytest

from workloads.progress import display, progress
from workloads.progress.display import Activity, Display
from workloads.progress.progress import Progress


@pytest.fixture
def clock(monkeypatch):
    """Seconds, in a list of one."""
    now = [100.0]
    for module in (display, progress):
        monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def shown(clock, monkeypatch):
    """Function (terminal) to a display, and the list of the texts that it writes."""

    def start(terminal):
        written = []
        shown = Display(written.append, terminal, Activity("parity.verify"))
        monkeypatch.setattr(display, "_session", types.SimpleNamespace(display=shown))
        return written, shown

    return start


def test_a_line_after_a_silence_and_then_every_ten_seconds(clock, shown):
    (written, screen), work = shown(terminal=False), Progress("digits")
    for done in range(1, 6):
        clock[0] += 4.0
        work.update(done, 5, loss=2.5)
        screen.tick()
    assert written == [
        "[  4 s] digits: 1 of 5, loss 2.5\n",
        "[ 16 s] digits: 4 of 5, 4.0 s/step, 4 s left, loss 2.5\n",
    ]


def test_what_is_not_counted_has_its_time(clock, shown):
    (written, screen), work = shown(terminal=False), Progress("digits")
    clock[0] += 1.0
    work.stage("building the towers")
    clock[0] += 3.0
    screen.tick()
    work.stage("loading TensorFlow", at_once=True)
    assert written == ["[  4 s] digits: building the towers, 3 s\n", "[  4 s] digits: loading TensorFlow\n"]


def test_a_note_stands_behind_what_is_counted_and_in_place_of_a_stage(clock, shown):
    (written, screen), work = shown(terminal=False), Progress("digits")
    work.stage("building both sides")
    work.note("step 1, mutant 2 of 8")
    clock[0] += 4.0
    screen.tick()
    work.update(1, 3)
    work.note("step 2, mutant 1 of 5")
    clock[0] += 12.0
    screen.tick()
    assert written == [
        "[  4 s] digits: step 1, mutant 2 of 8, 4 s\n",
        "[ 16 s] digits: 1 of 3, step 2, mutant 1 of 5\n",
    ]


@pytest.mark.parametrize("unit, rate", [("run", "4.0 s/run, "), (None, "")])
def test_the_rate_names_what_is_counted(clock, shown, unit, rate):
    (written, screen), work = shown(terminal=False), Progress("survival", unit)
    for done in range(1, 5):
        clock[0] += 4.0
        work.update(done, 5)
        screen.tick()
    assert written[-1] == f"[ 16 s] survival: 4 of 5, {rate}4 s left\n"


def test_a_bar_on_a_terminal(clock, shown):
    (written, screen), work = shown(terminal=True), Progress("digits")
    for done in (0, 6):
        clock[0] += 2.0
        work.update(done, 12, "identical bits", loss=2.5, details="batch =  losses =")
        screen.tick()
    assert written[0] == "digits  ────────────────────────  0/12  loss 2.5  identical bits\n  batch =  losses ="
    assert written[1] == "\r\x1b[1A\x1b[J"
    assert written[2].startswith("digits  ━━━━━━━━━━━━────────────  6/12  3.0 steps/s  2 s left  loss 2.5")


def test_nothing_is_shown_where_there_is_no_display(capsys):
    work = Progress("digits")
    work.stage("building")
    work.update(1, 2)
    work.done()
    assert capsys.readouterr() == ("", "")
