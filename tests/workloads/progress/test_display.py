"""The display on a made-up clock, and that of a command whose output goes to a pipe or to a terminal."""

import os
import pty
import subprocess
import sys

import pytest

from workloads.progress import display
from workloads.progress.display import Activity, Display


@pytest.fixture
def clock(monkeypatch):
    """Seconds, in a list of one."""
    now = [100.0]
    monkeypatch.setattr(display.time, "monotonic", lambda: now[0])
    return now


def test_in_a_pipe_silence_is_broken_first_early_and_then_rarely(clock):
    written = []
    shown = Display(written.append, False, Activity("parity.verify"))
    for now in (101.4, 101.6, 111.5, 111.7):
        clock[0] = now
        shown.tick()
    assert written == ["[  2 s] parity.verify: running\n", "[ 12 s] parity.verify: running\n"]


def test_what_the_command_prints_breaks_it_too(clock):
    written = []
    shown = Display(written.append, False, Activity("parity.verify"))
    clock[0] = 101.0
    shown.printed("a line\n")
    clock[0] = 110.9
    shown.tick()
    assert written == []


def test_on_a_terminal_the_lines_are_drawn_over_each_other(clock):
    written = []
    shown = Display(written.append, True, Activity("parity.verify"))
    clock[0] = 102.0
    shown.tick()
    with shown.printing():
        written.append("a line\n")
        shown.printed("a line\n")
    clock[0] = 103.0
    shown.tick()
    assert written == ["parity.verify: running", "\r\x1b[J", "a line\n", "parity.verify: running"]


def test_nothing_is_drawn_behind_an_unfinished_line(clock):
    written = []
    shown = Display(written.append, True, Activity("parity.verify"))
    shown.printed("loading ...")
    clock[0] = 103.0
    shown.tick()
    assert written == []
    shown.printed("done\n")
    clock[0] = 104.0
    shown.tick()
    assert written == ["parity.verify: running"]


SCRIPT = """
import sys, time
from workloads.progress import display
from workloads.progress.progress import Progress
with display.displayed("command"):
    work = Progress("job")
    work.stage("loading", at_once=True)
    print("result")
    print("note", file=sys.stderr)
assert not hasattr(sys.stdout, "_display")
"""


@pytest.mark.parametrize("setting, shown", [("", "[  0 s] job: loading\n"), ("none", "")])
def test_a_commands_output_is_its_own(setting, shown):
    environment = {**os.environ, display.VARIABLE: setting}
    process = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment)
    assert (process.stdout, process.stderr) == ("result\n", shown + "note\n")


def test_a_terminal_is_left_as_it_would_be_without_a_display():
    parent, child = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=child, stderr=child)
    os.close(child)
    seen = b""
    while True:
        try:
            part = os.read(parent, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        seen += part
    os.close(parent)
    assert process.wait() == 0
    text = seen.decode().replace("\r\n", "\n")
    assert text == "job  loading  0 s\r\x1b[Jresult\nnote\n"
