"""Work in a child process: its status, its last words, its limits; processes without TensorFlow."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap

import pytest

from workloads.support.machine import memory
from workloads.support.processes import isolation

ROOT = str(pathlib.Path(__file__).parents[4])

SCRIPT = """
import os, signal, sys
from workloads.support.command_line import command
from workloads.support.processes import isolation
from workloads.support.errors import InputError
def work():
    print("begun", flush=True)
    {work}
    return 0
def main():
    return command.isolated(work, "graph file: 'x'", isolation.Limits({limits}))
sys.exit(command.status_of(main))
"""


def run(work, limits=""):
    """The finished process of a script that does `work` isolated."""
    script = SCRIPT.format(work=textwrap.indent(textwrap.dedent(work), "    ").strip(), limits=limits)
    environment = dict(os.environ, PYTHONPATH=ROOT)
    return subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=100)


def test_the_status_and_what_is_printed_are_the_works():
    process = run("print('told', file=sys.stderr); os.write(2, b'native\\n'); return 3")
    assert process.returncode == 3 and process.stdout == "begun\n"
    assert sorted(process.stderr.splitlines()) == ["native", "told"]


def test_refused_input_and_defects_are_reported_as_without_a_child():
    assert run("raise InputError('--x: got 1, not this')").stderr == "error: --x: got 1, not this\n"
    defect = run("1 / 0")
    assert defect.returncode == 70 and "ZeroDivisionError" in defect.stderr


LAST_WORDS = (
    "os.write(2, b'F0000 00:00:1.5 1 shape.cc:1] Check failed: 0\\n*** Check failure stack trace\\n    @ 0x1 f\\n')"
)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT])
def test_a_crash_is_one_line(number):
    process = run(f"{LAST_WORDS}\nos.kill(os.getpid(), {int(number)})")
    assert process.returncode == 2
    name = signal.Signals(number).name
    assert (
        process.stderr == f"error: graph file: 'x': TensorFlow crashes on it ({name}); damaged, or made to do harm?\n"
    )


def test_work_on_made_up_data_names_them_as_a_reason_of_a_crash():
    process = run(f"{LAST_WORDS}\nos.kill(os.getpid(), {int(signal.SIGABRT)})", "crash='give --data'")
    assert process.stderr == "error: graph file: 'x': TensorFlow crashes on it (SIGABRT); give --data\n"
    assert isolation.limits_of_runs(1, 0, "less", "give --data").crash == "give --data"
    assert isolation.limits_of_runs(1, 0, "less").crash == isolation.limits_of_files().crash


def test_memory_and_time_have_limits_with_a_reason():
    process = run("hold = b'x' * (1 << 30); signal.pause()", "bytes=200 << 20")
    assert process.returncode == 2 and "it needs more than 0.2 GiB of memory" in process.stderr
    process = run("while True: pass", "seconds=0.1")
    assert process.returncode == 2 and "graph file: 'x': it" in process.stderr
    process = run("signal.pause()", "seconds=0.1")
    assert process.returncode == 2 and "it is not done after 0 s" in process.stderr


def test_limits_grow_with_the_files():
    small, large = isolation.limits_of_files(1000), isolation.limits_of_files(1000, 1 << 30)
    assert small.bytes < 2 << 30 < large.bytes and 60 < small.seconds < 61 < large.seconds
    assert isolation.limits_of_files(21 << 20).bytes > 2.5e9  # a graph of 87,000 nodes, which takes 2.0e9
    assert isolation.limits_of_files(values=21 << 20).bytes < 2e9


def test_a_graph_that_is_run_may_need_what_the_machine_has():
    files, runs = isolation.limits_of_files(1000), isolation.limits_of_runs(1000, 0, "take less")
    assert runs.bytes >= max(files.bytes, memory.total_bytes() // 2) and runs.seconds == 3600.0
    assert runs.advice == "damaged, or larger than this machine; take less"
    process = run("hold = b'x' * (1 << 30); signal.pause()", "bytes=200 << 20, advice='take less'")
    assert process.stderr == "error: graph file: 'x': it needs more than 0.2 GiB of memory; take less\n"


def test_the_child_ends_with_its_parent(tmp_path):
    script = SCRIPT.format(work="print(os.getpid(), flush=True); signal.pause()", limits="")
    process = subprocess.Popen(
        [sys.executable, "-c", script], env=dict(os.environ, PYTHONPATH=ROOT), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "begun\n"
    child = int(process.stdout.readline())
    process.kill()
    assert process.stdout.read() == ""  # the child had it open, too
    process.wait()
    process.stdout.close()
    assert child != process.pid


@pytest.mark.parametrize(
    "number, status, line", [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_a_signal_is_passed_on_and_the_parent_waits_for_the_child(number, status, line):
    script = SCRIPT.format(work="signal.pause()", limits="")
    environment = dict(os.environ, PYTHONPATH=ROOT)
    process = subprocess.Popen(
        [sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "begun\n"
    process.send_signal(number)
    out, told = process.communicate(timeout=60)
    assert (process.returncode, out, told) == (status, "", line + "\n")
