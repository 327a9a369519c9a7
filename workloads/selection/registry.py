"""Workloads by name: the built-in ones, or a user's own as `package.module:attribute` or `path/file.py:attribute`.

>>> get("stacked_lstm", "seed").depth
6
>>> NAMES[0]
'sigmoid_stack'
"""

from __future__ import annotations

import ast
import importlib
import os
import sys
from typing import TYPE_CHECKING

from workloads import models
from workloads.lifted import is_lift_folder
from workloads.support.errors import InputError, require
from workloads.support.user import user_code, user_modules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workloads.workload import Workload

SIZES = ("small", "seed")


def built_in_names(folders: Sequence[str]) -> tuple[str, ...]:
    """Returns the names of the model files in `folders`: those that define an instance for each of `SIZES`.

    In the order of their `SYSTEM` numbers, then files without a number, by name. The files are parsed and not
    imported: importing one would start TensorFlow.
    """
    found = []
    for folder in folders:
        for file_name in sorted(os.listdir(folder)):
            if file_name.endswith(".py"):
                constants = _constants(os.path.join(folder, file_name))
                if all(size.upper() in constants for size in SIZES):
                    name = file_name[: -len(".py")]
                    found.append((constants.get("SYSTEM") or sys.maxsize, name))
    return tuple(name for _, name in sorted(found))


def _constants(path: str) -> dict[str, int | None]:
    """Returns {name: value} of a module's constants; the value is None unless it is a literal integer."""
    with open(path, encoding="utf-8") as file:
        body = ast.parse(file.read(), path).body
    found: dict[str, int | None] = {}
    for node in body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                value = ast.literal_eval(node.value)
            except ValueError:
                value = None
            found[node.targets[0].id] = value if isinstance(value, int) else None
    return found


NAMES = built_in_names(list(models.__path__))


def get(name: str, size: str = "small") -> Workload:
    """Returns the workload called `name`.

    Args:
      name: one of `NAMES`; "package.module:attribute" for a `Workload` (or a function that makes one) found
        on the import path or below the current folder; "path/file.py:attribute" for one in a file anywhere; or a
        folder that holds a lift.
      size: "small" (seconds on two cores) or "seed" (the write-up's numbers); built-in workloads only.

    Raises:
      InputError: there is no such workload.
      UserError: the user's module or function raised an exception.
    """
    require(size in SIZES, "--size", size, "allowed: " + ", ".join(SIZES))
    if is_lift_folder(name):
        from workloads.lifted.workload import load_lift

        return load_lift(name)
    if ":" in name:
        return _load(name)
    allowed = "allowed: {}; package.module:attribute; file.py:attribute; or a folder that legacy.lift wrote".format(
        ", ".join(NAMES)
    )
    require(name in NAMES, "--workload", name, allowed)
    return getattr(importlib.import_module("workloads.models." + name), size.upper())


def _load(name: str) -> Workload:
    from workloads.workload import Workload, check_workload

    module_name, _, attribute = name.rpartition(":")
    if module_name.endswith(".py"):
        module = user_modules.import_users_file(module_name, f"--workload: {name!r}")
    else:
        module = user_modules.import_users_module(module_name, f"--workload: {name!r}")
    try:
        workload = getattr(module, attribute)
    except AttributeError:
        raise InputError(f"--workload: {name!r}: module {module_name!r} has no attribute {attribute!r}")
    if callable(workload) and not isinstance(workload, Workload):
        with user_code.calling(name, workload, "a Workload, made without arguments"):
            workload = workload()
    check_workload(workload)
    return workload
