"""Command line and environment of a child process that runs one of this project's commands."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from absl import flags

from workloads.support.command_line import command
from workloads.support.errors import UserError

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def module_command(interpreter: str, module: str) -> list[str]:
    """Returns the beginning of a command line that runs a module of this project, as `python -m` would.

    `python -m` looks in the current folder first, where a user may have a package `legacy` of his own; here the
    project's is imported before that folder is searched.
    """
    start = (
        "import runpy, sys\n"
        f"sys.path[:] = [{ROOT!r}] + [place for place in sys.path if place]\n"
        f"import {module.partition('.')[0]}\n"
        "del sys.path[0]\n"
        f"runpy.run_module({module!r}, run_name='__main__', alter_sys=True)\n"
    )
    return [interpreter, "-c", start]


def raise_user_error(status: int, errors: str) -> None:
    """Raises the `UserError` that a child command ended with, if it was one.

    Args:
      status: the child's exit status.
      errors: its stderr; the last line is the error's message.
    """
    if status == command.USER_CODE:
        line = errors.strip().rpartition("\n")[2]
        raise UserError(line[len(command.ERROR) :] if line.startswith(command.ERROR) else line)


def child_environment() -> dict[str, str]:
    """Returns the environment of a child in this interpreter, which finds this project and the current folder."""
    return dict(os.environ, PYTHONPATH=_python_path(ROOT, os.getcwd()))


def other_interpreter_environment() -> dict[str, str]:
    """Returns the environment of a child in another interpreter, without the settings of this one.

    The project's folder is left out, as it may be the one that this interpreter's packages are installed in;
    `module_command` names it.
    """
    kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONHOME", "VIRTUAL_ENV")}
    return dict(kept, PYTHONPATH=_python_path(os.getcwd()), TF_CPP_MIN_LOG_LEVEL="2")


def flag_arguments(flag_values: flags.FlagValues, modules: Iterable[str], without: Iterable[str] = ()) -> list[str]:
    """Returns the current values of flags as command-line arguments, for a child that defines the same flags.

    Args:
      flag_values: this command's flags.
      modules: names of the modules whose flags are passed on.
      without: names of flags that are left out.

    Returns:
      ["--name=value", ...]; flags that are None are left out.
    """
    left_out = set(without)
    return [
        f"--{flag.name}={flag_text(flag.value)}"
        for module in modules
        for flag in flag_values.get_flags_for_module(module)
        if flag.value is not None and flag.name not in left_out
    ]


def flag_text(value: Any) -> str:
    """Returns a flag's value as it stands on a command line."""
    if isinstance(value, (list, tuple)):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _python_path(*first: str) -> str:
    return os.pathsep.join([*first] + [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p])
