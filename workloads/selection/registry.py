"""Workloads by name: the five systems, or anybody's own as `package.module:attribute`."""

from __future__ import annotations

import importlib
import os
import sys

from workloads.lifted import is_lifted
from workloads.support.errors import InputError, require

NAMES = ("sigmoid_stack", "regression", "cifar_cnn", "resnet18", "stacked_lstm")
SIZES = ("small", "seed")


def get(name, size="small"):
    """The workload called `name`.

    Args:
      name: one of `NAMES`; "package.module:attribute" for a `Workload` (or a function that makes one) found
        on the import path or below the current folder; or a folder that holds a lift.
      size: "small" (seconds on two cores) or "seed" (the write-up's numbers); the five systems only.

    Raises:
      InputError: there is no such workload.
    """
    require(size in SIZES, "--size", size, "allowed: " + ", ".join(SIZES))
    if is_lifted(name):
        from workloads.lifted import workload as lifted

        return lifted.load(name)
    if ":" in name:
        return _load(name)
    allowed = "allowed: {}; package.module:attribute; or a folder that legacy.lift wrote".format(", ".join(NAMES))
    require(name in NAMES, "--workload", name, allowed)
    return getattr(importlib.import_module("workloads.models." + name), size.upper())


def _load(name):
    from workloads.workload import check

    module_name, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # whatever the user's module raises while it is imported
        raise InputError(f"--workload: {name!r}: importing {module_name!r} failed: {type(error).__name__}: {error}")
    try:
        workload = getattr(module, attribute)
    except AttributeError:
        raise InputError(f"--workload: {name!r}: module {module_name!r} has no attribute {attribute!r}")
    if callable(workload):
        workload = workload()
    check(workload)
    return workload
