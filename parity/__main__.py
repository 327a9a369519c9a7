"""`tower-parity` and `python -m parity`: runs the subcommand named first, else all workloads (`all_workloads`)."""

from __future__ import annotations

import importlib
import sys

import parity
from parity.subcommands import SUBCOMMANDS
from workloads.support.errors import InputError


def module_of(arguments: list[str]) -> str:
    """Returns the name of the module that runs the command line `arguments`, which begin after the program's name.

    Raises:
      InputError: the first argument is not a flag and no subcommand.
    """
    if not arguments or arguments[0].startswith("-"):
        return "parity.all_workloads"
    modules = {subcommand.name: subcommand.module for subcommand in SUBCOMMANDS}
    if arguments[0] not in modules:
        raise InputError(f"argument: got {arguments[0]!r}, allowed: {', '.join(modules)}; or flags only")
    return modules[arguments[0]]


def console() -> None:
    """Runs the command line and ends the process."""
    if sys.argv[1:2] == ["--version"]:
        print(f"tower-parity {parity.__version__}")
        sys.exit(0)
    try:
        module = module_of(sys.argv[1:])
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    if module != "parity.all_workloads":
        del sys.argv[1]
    importlib.import_module(module).console()


if __name__ == "__main__":
    console()
