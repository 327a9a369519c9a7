"""What both sides share: the job, said once.

Here live the `Workload` (model, optimizer, schedule and every choice that changes the mathematics), the
`Scope` through which a model gets its variables, the numpy initial values and batches, the five models, and
`Program`/`StepRecord`: what running a workload shows.

Everything here runs under TensorFlow 1.15 on Python 3.7 and under current TensorFlow, and imports nothing of
`legacy`, `modern` or `parity`. No Keras, no session, no strategy, no flags outside `flags.py`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workloads.workload import Workload


def get(name: str, size: str = "small") -> Workload:
    """The `Workload` called `name`; see `workloads.selection.registry.get`."""
    # By name and late: importing `workloads` must not import TensorFlow, and nothing here depends on `selection`.
    return importlib.import_module("workloads.selection.registry").get(name, size)
