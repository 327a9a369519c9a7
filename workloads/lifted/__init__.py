"""Lifted workloads: an old program's graph, cut into the pieces that each replica runs, and the plan of their use.

Here: reading and writing a lift, its plan, its batches and checkpoints. Not here: how a plan is found
(`legacy.saved`) and how it runs (`legacy.rerun`, `modern.lifted`).
Start with `plan.py`, then `workload.py`."""

from __future__ import annotations

import os

#: Name of the file that makes a folder a lift.
PLAN = "workload.json"
#: Name of the checkpoint in it.
VALUES = "variables"


def is_lift_folder(path: str) -> bool:
    """Returns whether `path` is a folder that holds a lift. Needs no TensorFlow."""
    return os.path.isfile(os.path.join(path, PLAN))
