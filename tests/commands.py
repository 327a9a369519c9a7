"""The commands as people run them: a finished process of `python -m ...`, and its refusal in one line."""

from __future__ import annotations

import os
import subprocess
import sys

from tests import fork_server
from tests.fork_server import ROOT
from tests.stderr import without_progress

#: Commands that always import TensorFlow for exact runs (see `environment.prepare`).
EXACT = {
    "legacy.lift",
    "legacy.record",
    "modern.record",
    "parity.clean_runs",
    "parity.faults",
    "parity.lost_worker",
    "parity.placement",
    "parity.ports",
    "parity.verify",
}


def run(*arguments: str, cwd: str | os.PathLike[str] = ROOT) -> subprocess.CompletedProcess[str]:
    """Returns the finished process of `python -m <arguments>`, started as from an installed package."""
    return fork_server.of(_is_exact(*arguments)).run(arguments, cwd, environment())


def _is_exact(command: str, *flags: str) -> bool:
    def given(name: str) -> bool:
        return any(flag.startswith(f"--{name}=") for flag in flags)

    trains_in_a_study = command == "parity.study" and not given("name")  # the default; the others measure speed
    return command in EXACT or trains_in_a_study


def run_anew(*arguments: str, cwd: str | os.PathLike[str] = ROOT) -> subprocess.CompletedProcess[str]:
    """Does the same in a new interpreter, which inherits this process's limits."""
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment(), capture_output=True, text=True)


def environment() -> dict[str, str]:
    """Returns the environment of a command that is started where TensorFlow is not prepared yet."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
    return {**kept, "PYTHONPATH": fork_server.python_path()}


def refused(process: subprocess.CompletedProcess[str]) -> str:
    """Returns the one line of a refusal."""
    assert process.returncode == 2, process.stderr + process.stdout
    refusal = without_progress(process.stderr)
    assert len(refusal.strip().splitlines()) == 1, process.stderr
    return refusal
