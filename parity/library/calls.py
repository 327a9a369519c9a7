"""`parity.verify`, `parity.diagnose` and `parity.assert_parity`: the commands as functions."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Union

from parity.library.results import Diagnosis, Verification
from parity.library.workload_names import workload_text
from parity.processes import child_command
from parity.processes.json_command import CommandEnd, run_json_command
from workloads.support.command_line import command
from workloads.support.errors import InputError

if TYPE_CHECKING:
    from workloads.workload import Workload

#: Values that a flag takes in Python.
FlagValue = Union[str, int, float, bool, "os.PathLike[str]", Sequence[str]]

#: Exit status of a command whose input cannot be used.
UNUSABLE = 2


def verify(workload: str | os.PathLike[str] | Workload, **flags: FlagValue) -> Verification:
    """Compares a workload's towers with its port, as `python -m parity.verify` does.

    Args:
      workload: a built-in workload's name, "module:NAME", "file.py:NAME", the folder of a lift, or a `Workload` that is
        a variable of an importable module.
      **flags: the command's flags by name, such as replicas=4, steps=100, tolerance="exact"; see docs/commands.md.

    Returns:
      the result, whatever the verdict.

    Raises:
      InputError: the workload or a flag cannot be used.
      UserError: the workload's own code failed; the message begins with its file and line.
      RuntimeError: the command ended in another way.
    """
    end = _run("parity.verify", {"workload": workload_text(workload), **flags})
    return Verification(end.result, end.output.rstrip())


def diagnose(left: str | os.PathLike[str], right: str | os.PathLike[str], **flags: FlagValue) -> Diagnosis:
    """Names the causes of the difference between two recordings, as `python -m parity.diagnose` does.

    Args:
      left: the reference, a recording (.npz).
      right: the run to explain, a recording (.npz).
      **flags: the command's flags by name, such as steps=10; see docs/commands.md.

    Returns:
      the causes, and whether there is anything to mend.

    Raises:
      InputError: a recording or a flag cannot be used.
      RuntimeError: the command ended in another way.
    """
    end = _run("parity.diagnose", {"left": left, "right": right, **flags})
    return Diagnosis(end.result, end.output.rstrip(), end.status)


def assert_parity(
    left: str | os.PathLike[str] | Workload, right: str | os.PathLike[str] | None = None, **flags: FlagValue
) -> None:
    """Raises `AssertionError`, with the report as its message, unless two programs train the same model.

    Args:
      left: a workload as `verify` takes it, whose towers and port are compared; with `right`, a recording (.npz).
      right: a recording (.npz) that is compared with the one on the left.
      **flags: as `verify` takes them, or with `right` as `diagnose` does.

    Raises:
      AssertionError: they do not, or it was not shown that they do.
      InputError, UserError, RuntimeError: as `verify` and `diagnose`.
    """
    if right is None:
        result: Verification | Diagnosis = verify(left, **flags)
    else:
        result = diagnose(os.fspath(left), right, **flags)  # type: ignore[arg-type]  # a workload is no path: TypeError
    if not result.passed:
        raise AssertionError(str(result))


def _run(module: str, flags: dict[str, FlagValue]) -> CommandEnd:
    """Runs a command with flags in a process with this one's import path; see `verify` for the exceptions."""
    arguments = [f"--{name}={child_command.flag_text(value)}" for name, value in flags.items()]
    path = child_command.child_environment()["PYTHONPATH"]
    places = [place for place in sys.path if place and os.path.isdir(place)]
    end = run_json_command(module, arguments, {"PYTHONPATH": os.pathsep.join([path, *places])})
    child_command.raise_user_error(end.status, end.error)
    if end.status == UNUSABLE:
        raise InputError(end.error.removeprefix(command.ERROR))
    if end.result is None:
        raise RuntimeError(f"{module} ended with status {end.status}: {end.error}")
    return end
