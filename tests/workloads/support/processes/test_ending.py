"""The end of a command's process: its output is written, exit functions run, and nothing that blocks keeps it."""

import os
import pathlib
import signal
import subprocess
import sys

import pytest

ROOT = str(pathlib.Path(__file__).parents[4])

#: Blocks in a call that does not return to Python, as a step does that waits for an input: a lock that is locked twice.
BLOCK = """
import ctypes
lock, library = ctypes.create_string_buffer(64), ctypes.CDLL(None)
library.pthread_mutex_lock(lock)
print("here", flush=True)
library.pthread_mutex_lock(lock)
"""

#: An object in a reference cycle: it is destroyed with the interpreter, and waits for a thread that runs Python code.
WAITS = """
import threading, time
def make_iterator(sleep=time.sleep):
    ended, done = [], []
    def make_batches():
        while not ended:
            sleep(0.01)
        done.append(True)
    class Iterator:
        def __del__(self):
            ended.append(True)
            while not done:
                sleep(0.01)
    threading.Thread(target=make_batches, daemon=True).start()
    iterator = Iterator()
    iterator.itself = iterator
make_iterator()
"""

COMMAND = '''"""A command."""
import atexit, os, sys
from workloads.support.command_line import command
from workloads.support.files import unfinished
from workloads.support.processes import ending
def main():
    atexit.register(lambda: print("exit function"))
    context = unfinished.removed_unless_complete("unfinished")
    context.__enter__()
    open("unfinished", "w").close()
    exec(os.environ["WORK"], globals())
    print("last line")
    return 3
if __name__ == "__main__":
    command.entry(main, __doc__)()
'''


@pytest.fixture
def start(tmp_path):
    """Function (work, output) to the running process of a small command that executes `work`."""

    def start_command(work, output=subprocess.PIPE):
        (tmp_path / "script.py").write_text(COMMAND)
        return subprocess.Popen(
            [sys.executable, "script.py"],
            cwd=tmp_path,
            env=dict(os.environ, PYTHONPATH=ROOT, WORK=work),
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start_command


def test_the_interpreters_own_end_waits_for_its_threads_for_ever():
    process = subprocess.Popen([sys.executable, "-c", WAITS])
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=2)
    process.kill()
    process.wait()


@pytest.mark.parametrize(
    "work, status, out, err",
    [
        (WAITS, 3, "last line\nexit function\n", ""),
        (WAITS + "raise KeyboardInterrupt", 130, "exit function\n", "interrupted\n"),
        (WAITS + "raise SystemExit(5)", 5, "exit function\n", ""),
        ("import time; atexit.register(time.sleep, 1000)", 3, "last line\n", ""),
    ],
)
def test_a_command_ends_with_its_last_line(work, status, out, err, start, tmp_path):
    process = start(work)
    seen = process.communicate(timeout=120)
    assert (process.returncode, *seen) == (status, out, err)
    assert os.listdir(tmp_path) == ["script.py"]


def test_an_unexpected_exception_is_shown_and_ends_it_too(start):
    process = start(WAITS + "raise ZeroDivisionError('twice')")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 70 and out == "exit function\n"
    assert err.startswith("Traceback") and err.endswith("ZeroDivisionError: twice\n")


@pytest.mark.parametrize(
    "number, status, line", [(signal.SIGINT, 130, "interrupted\n"), (signal.SIGTERM, 143, "terminated\n")]
)
def test_an_error_that_a_library_makes_of_a_signal_is_reported_as_the_signal(number, status, line, start):
    work = f"""
import signal
try:
    signal.raise_signal({int(number)})
except BaseException as error:
    raise RuntimeError("original exception replaced") from error
"""
    process = start(work)
    _, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (status, line)


@pytest.mark.parametrize("number, line", [(signal.SIGINT, "interrupted\n"), (signal.SIGTERM, "terminated\n")])
def test_a_signal_ends_a_call_that_never_returns(number, line, start, tmp_path):
    process = start(BLOCK)
    assert process.stdout.readline() == "here\n"
    assert os.path.exists(tmp_path / "unfinished")
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 128 + number and err == line
    assert os.listdir(tmp_path) == ["script.py"]


#: Takes one signal and goes on until it has got it.
DEFERS = """
import signal, time
got = []
ending.handle_once(signal.SIGINT, got.append)
print("here", flush=True)
while not got:
    time.sleep(0.01)
print("got", *map(int, got), flush=True)
"""


def test_a_signal_that_is_handled_takes_as_long_as_it_needs_and_the_next_one_ends_it(start):
    process = start(DEFERS + "ending.REPEAT = 0.0\n" + BLOCK.replace("here", "still here"))
    assert process.stdout.readline() == "here\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "got 2\n"
    assert process.stdout.readline() == "still here\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=120)[1] == "interrupted\n"
    assert process.returncode == 130


def test_a_signal_that_comes_twice_at_once_is_one(start):
    process = start(DEFERS + "ending.REPEAT = 1000.0; os.kill(os.getpid(), signal.SIGINT); time.sleep(0.05)\n")
    assert process.stdout.readline() == "here\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (3, "got 2\nlast line\nexit function\n", "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_output_that_cannot_be_written_is_one_line(start):
    for work in ("atexit._clear()", "atexit._clear(); sys.stdout = open(1, 'w', 1000); print('lines'); sys.exit(0)"):
        with open("/dev/full", "w") as full:
            process = start(work, full)
            out, err = process.communicate(timeout=120)
        assert (process.returncode, err) == (2, "error: cannot write the output: No space left on device\n"), work


def test_a_signal_has_its_exception():
    from workloads.support.processes import ending

    assert isinstance(ending.exception_for(signal.SIGINT), KeyboardInterrupt)
    assert isinstance(ending.exception_for(signal.SIGTERM), ending.Terminated)
