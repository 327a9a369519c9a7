"""A program that answers lines, in Python scripts that do so well or badly."""

import os
import signal

import pytest

from parity.processes import line_process
from parity.processes.line_process import LineError, LineProcess, check_executable
from tests.parity.speed.scripts import good, script
from workloads.support.errors import InputError


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Starts a program with a text; all that were started are stopped, and have ended, afterwards."""
    monkeypatch.setattr(line_process, "GRACE", 0.5)
    started = []

    def start(text, **variables):
        started.append(LineProcess(script(tmp_path, text, f"{len(started)}.py"), variables))
        return started[-1]

    yield start
    for process in started:
        process.stop()
        assert process._process.returncode is not None


def test_it_answers_line_by_line_and_ends_when_told(start):
    process = start(good())
    assert process.ask("hello", 30) == '{"name": "mine", "examples_per_step": 64}'
    assert process.ask("run 2", 30) == process.ask("run 3", 30) == "done"
    process.stop("quit")
    assert process._process.returncode == 0  # it ended by itself


def test_it_gets_its_variables(start):
    assert start("import os\ninput()\nprint(os.environ['MINE'], flush=True)\ninput()", MINE="7").ask("hello", 30) == "7"


@pytest.mark.parametrize(
    "text, message",
    [
        ("raise SystemExit(3)", "ended with status 3"),
        ("input()\nraise ValueError('no such\\tdata')", "ended with status 1: ValueError: no such data"),
        ("import os\ninput()\nos.kill(os.getpid(), 9)", "ended by signal 9"),
        ("import time\ntime.sleep(60)", "did not answer within 0.2 s"),
        ("import os, time\ninput()\nos.close(1)\ntime.sleep(60)", "closed its output"),
        (
            "import sys, time\ninput()\nsys.stdout.write('x' * 200000)\nsys.stdout.flush()\ntime.sleep(60)",
            "sent more than 65536 bytes without an end of line",
        ),
    ],
)
def test_what_goes_wrong_is_said(text, message, start):
    process = start(text)
    with pytest.raises(LineError) as error:
        process.ask("hello", 0.2 if "0.2" in message else 30)
    assert str(error.value) == message


def test_a_file_without_an_interpreter_cannot_be_run(tmp_path):
    path = tmp_path / "mine"
    path.write_text("no program")
    path.chmod(0o755)
    process = LineProcess(str(path), {})
    with pytest.raises(LineError, match="cannot be run: Exec format error"):
        process.ask("hello", 30)
    process.stop()


def test_what_it_has_started_ends_with_it(start):
    text = (
        "import os, signal, sys, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "pid = os.fork()\n"
        "if pid:\n    print(pid, flush=True)\ntime.sleep(60)"
    )
    process = start(text)
    child = os.pidfd_open(int(process.ask("hello", 30)))
    process.stop("quit")
    assert process._process.returncode == -signal.SIGKILL
    assert line_process.selectors.select.select([child], [], [], 30)[0]  # a process that has ended can be read
    os.close(child)


def test_it_ends_when_this_process_does(tmp_path):
    """A parent that starts a program which ignores the end of its input, and is then killed."""
    import subprocess
    import sys

    path = script(tmp_path, "import os, time\ninput()\nprint(os.getpid(), flush=True)\ntime.sleep(60)")
    code = (
        "import os, sys\nfrom parity.processes.line_process import LineProcess\n"
        f"print(LineProcess({path!r}, {{}}).ask('hello', 30), flush=True)\nsys.stdin.read()"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    child = os.pidfd_open(int(parent.stdout.readline()))
    parent.kill()
    parent.communicate()
    assert line_process.selectors.select.select([child], [], [], 30)[0]
    os.close(child)


def test_files_are_checked(tmp_path):
    path = script(tmp_path, "")
    check_executable("--others", path)
    with pytest.raises(InputError, match="--others: got '.*', must be a file"):
        check_executable("--others", str(tmp_path))
    with pytest.raises(InputError, match="no such file"):
        check_executable("--others", path + "x")
    os.chmod(path, 0o644)
    with pytest.raises(InputError, match="must be executable"):
        check_executable("--others", path)
