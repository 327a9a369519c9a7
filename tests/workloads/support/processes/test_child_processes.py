"""Processes that a command starts: what they say, how they are lost, and that they end with their parent."""

import os
import pathlib
import select
import signal
import subprocess
import sys

import pytest

from workloads.support.errors import InputError, Lost
from workloads.support.machine import environment
from workloads.support.processes import addresses, child_processes, child_side

ROOT = str(pathlib.Path(__file__).parents[4])


@pytest.fixture(autouse=True)
def _no_tensorflow_in_children(monkeypatch):
    """These children need none, and would take seconds to import it."""
    monkeypatch.setattr(child_processes, "run_child", _run_without_tensorflow)


def _run_without_tensorflow(*arguments):
    environment.prepare = lambda exact: None
    child_side.run_child(*arguments)


def echo(speaker, factor):
    """Answers numbers with their multiples, until there are no more."""
    while True:
        number = speaker.listen()
        if number is None:
            return
        speaker.say(number * factor)


def fail(speaker):
    """Fails."""
    raise ValueError("two\nlines")


def refuse(speaker):
    """Refuses its input."""
    raise InputError("--flag: got 1, allowed: 2")


def variable(speaker, name):
    """Says an environment variable."""
    speaker.say(os.environ.get(name))


def wait(speaker):
    """Is there until it is ended."""
    speaker.say("here")
    signal.pause()


def print_and_abort(speaker, text):
    """Prints as C++ code does, which knows no `sys.stderr`, and as Python does; then aborts."""
    os.write(2, text.encode())
    print("of Python", file=sys.stderr)
    os.abort()


@pytest.mark.parametrize(
    "quiet, printed, told", [(True, "of Python\n", " (the last)"), (False, "the first\nthe last\nof Python\n", "")]
)
def test_a_quiet_child_shows_what_python_prints_and_its_last_line_if_it_crashes(quiet, printed, told, capfd):
    child = child_processes.Child("worker 3", print_and_abort, ("the first\nthe last\n",), quiet=quiet)
    with pytest.raises(Lost) as lost:
        child.receive(60)
    assert str(lost.value).endswith(f"ended by signal {int(signal.SIGABRT)}{told}")
    child.stop()
    assert capfd.readouterr().err == printed


def test_a_child_answers_and_ends():
    child = child_processes.Child("echo", echo, (3,))
    child.send(14)
    assert child.receive(60) == 42
    child.stop()
    assert not child.alive


def test_its_environment_is_its_own():
    child = child_processes.Child("variable", variable, ("TOWER_PARITY_TEST",), variables={"TOWER_PARITY_TEST": "set"})
    assert child.receive(60) == "set" and "TOWER_PARITY_TEST" not in os.environ
    child.stop()


def test_a_failure_is_one_line_with_the_childs_name():
    child = child_processes.Child("worker 1", fail)
    with pytest.raises(Lost, match="^worker 1 failed: ValueError: two lines$"):
        child.receive(60)
    child.stop()


def test_bad_input_stays_bad_input():
    child = child_processes.Child("worker 1", refuse)
    with pytest.raises(InputError, match="--flag: got 1"):
        child.receive(60)
    child.stop()


def test_the_killed_one_is_named():
    started = [child_processes.Child(f"worker {index}", wait) for index in range(2)]
    assert child_processes.receive_from_all(started) == ["here", "here"]
    os.kill(started[1].pid, signal.SIGKILL)
    with pytest.raises(Lost, match="worker 1 .* ended by signal 9"):
        child_processes.receive_from_all(started[1:])
    child_processes.stop_all(started)
    assert not any(child.alive for child in started)


SCRIPT = """
import os, signal, sys
sys.path.insert(0, {root!r})
from tests.workloads.support.processes.test_child_processes import child_processes, wait, _run_without_tensorflow
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background ignores it
    child_processes.run_child = _run_without_tensorflow
    child = child_processes.Child("worker", wait)
    child.receive(60)
    print(child.pid, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_child_does_not_outlive_its_parent(tmp_path, end):
    path = tmp_path / "parent.py"
    path.write_text(SCRIPT.format(root=ROOT))
    parent = subprocess.Popen(
        [sys.executable, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    pid = int(parent.stdout.readline())
    watch = os.pidfd_open(pid)  # readable when the process has ended
    assert select.select([watch], [], [], 0) == ([], [], [])
    os.kill(parent.pid, end)
    assert select.select([watch], [], [], 60)[0] == [watch]
    parent.communicate()


def test_free_addresses_are_distinct_and_on_loopback():
    found = addresses.free_addresses(20)
    assert len(set(found)) == 20
    assert all(place.startswith("127.0.0.1:") for place in found)


def mask(speaker):
    """Says whether Ctrl-C reaches it."""
    speaker.say(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))


def test_ctrl_c_does_not_reach_a_child_from_its_beginning_and_reaches_its_parent():
    child = child_processes.Child("mask", mask)
    assert child.receive(60) is True
    child.stop()
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_the_first_child_begins_without_ctrl_c_too():
    """`multiprocessing` starts its resource tracker before the first child; up to 3.11 this unblocks SIGINT."""
    lines = [
        "import signal",
        "from multiprocessing import resource_tracker",
        "from workloads.support.processes import interrupts",
        "with interrupts.without_ctrl_c():",
        "    resource_tracker.ensure_running()  # as the start of a child does",
        "    print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))",
        "print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))",
    ]
    environment = dict(os.environ, PYTHONPATH=ROOT)
    process = subprocess.run([sys.executable, "-c", "\n".join(lines)], env=environment, capture_output=True, text=True)
    assert process.stdout.split() == ["True", "False"], process.stderr
