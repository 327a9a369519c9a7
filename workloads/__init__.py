"""The parts of a job that both sides share: the model and every choice that decides its numbers, described once.

Here: `Workload` (model, optimizer, schedule and every choice that changes the mathematics), the `Scope` through which a
model gets its variables, the initial values and batches, the built-in models, and `Program`/`StepRecord`, the interface
of whatever runs a workload. Not here: sessions, strategies, Keras; nothing of `legacy`, `modern` or `parity`.
Start with `workload.py`, then `models/regression.py`, then `program.py`.

Everything here runs under TensorFlow 1.15 on Python 3.7 and under current TensorFlow.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from workloads.support.processes import starting

if TYPE_CHECKING:
    from workloads.workload import Workload

starting.watch_imports()  # here: every command imports this package first


def get(name: str, size: str = "small") -> Workload:
    """Returns the `Workload` called `name`; see `workloads.selection.registry.get`."""
    # By name and late: importing `workloads` must not import TensorFlow, and nothing here depends on `selection`.
    return importlib.import_module("workloads.selection.registry").get(name, size)
