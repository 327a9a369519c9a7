"""Runs one of this project's commands as a child process, and returns the JSON that it writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from parity.processes import child_command


class CommandEnd(NamedTuple):
    """The end of a child command.

    Attributes:
      status: its exit status.
      result: its JSON, or None if it wrote none.
      error: the last line that it wrote to stderr; empty if its status is 0, or if its output was passed on.
      output: its stdout; empty if that was passed on.
    """

    status: int
    result: Any
    error: str
    output: str = ""


def run_json_command(
    module: str, arguments: Sequence[str], variables: Mapping[str, str] | None = None, passes_output_on: bool = False
) -> CommandEnd:
    """Runs a command to its end.

    Args:
      module: the command's module.
      arguments: its flags, without `--json`.
      variables: environment variables that it gets beside this process's.
      passes_output_on: whether its output appears as this process's own; else it is kept back.

    Returns:
      the `CommandEnd`.
    """
    environment = {**child_command.child_environment(), **(variables or {})}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "result.json")
        command = [*child_command.module_command(sys.executable, module), *arguments, f"--json={path}"]
        child = subprocess.run(command, env=environment, capture_output=not passes_output_on, text=True)
        result = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                result = json.load(file)
    error = child.stderr.strip().rpartition("\n")[2] if child.returncode and child.stderr else ""
    return CommandEnd(child.returncode, result, error, child.stdout or "")
