"""Ctrl-C before a command runs: one line where `python -m` started it, Python's own traceback anywhere else."""

import os
import pathlib
import signal
import subprocess
import sys

import pytest

ROOT = str(pathlib.Path(__file__).parents[4])


@pytest.fixture
def started(tmp_path):
    """Function (arguments, work) to the ended process of a module that does `work` while it is imported."""

    def start(arguments, work):
        package = tmp_path / "package"
        package.mkdir()
        (package / "__init__.py").write_text("import workloads\n")
        (package / "module.py").write_text(f"import os, signal, workloads\n{work}\nprint('goes on')\n")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([ROOT, str(tmp_path)])}
        command = [sys.executable, *arguments]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)

    return start


INTERRUPT = "os.kill(os.getpid(), signal.SIGINT)"
AS_MODULE, AS_SCRIPT = ["-m", "package.module"], ["package/module.py"]


def test_ctrl_c_while_a_command_imports_is_one_line(started):
    ended = started(AS_MODULE, INTERRUPT)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "interrupted\n")


def test_a_script_that_imports_the_packages_keeps_pythons_own_end(started):
    ended = started(AS_SCRIPT, INTERRUPT)
    assert ended.returncode == -signal.SIGINT and "Traceback" in ended.stderr


def test_any_other_error_of_an_import_keeps_its_traceback(started):
    ended = started(AS_MODULE, "1 / 0")
    assert ended.returncode == 1 and "Traceback" in ended.stderr and "ZeroDivisionError" in ended.stderr


def test_a_module_without_an_interrupt_goes_on(started):
    assert started(AS_MODULE, "").stdout == "goes on\n"
