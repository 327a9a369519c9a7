"""The text by which a command in another process finds a workload."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from workloads.support.errors import InputError

if TYPE_CHECKING:
    from workloads.workload import Workload


def workload_text(workload: str | os.PathLike[str] | Workload) -> str:
    """Returns the value of `--workload` for a workload.

    Args:
      workload: the text itself, a path, or a `Workload` that is a variable of an imported module.

    Returns:
      the text, or "file.py:NAME" of the variable.

    Raises:
      InputError: the object is no variable of a module that has a file.
    """
    if isinstance(workload, (str, os.PathLike)):
        return os.fspath(workload)
    found = [variable for module in list(sys.modules.values()) for variable in _variables(module, workload)]
    own = type(workload).__module__
    found.sort(key=lambda variable: variable.module != own)  # rather where its class is than where it was imported to
    if found:
        return found[0].text
    raise InputError(
        f"workload: got {type(workload).__name__} {getattr(workload, 'name', '')!r}, expected a variable of a module "
        "that has a file: the comparison runs in a process of its own, which imports it"
    )


class _Variable(NamedTuple):
    """A module's name, and the text for a variable of it."""

    module: str
    text: str


def _variables(module: ModuleType, value: object) -> Iterator[_Variable]:
    """Yields the variables of a module that are `value`; none for a module without a file."""
    path = getattr(module, "__file__", None)
    if path and path.endswith(".py"):
        place = module.__name__ if "." in module.__name__ else path
        for name, other in list(vars(module).items()):
            if other is value and name.isidentifier():
                yield _Variable(module.__name__, f"{place}:{name}")
