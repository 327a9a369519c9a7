"""Lifted workloads: an old program's graph, cut into the pieces that each replica runs, and the plan of their use.

Here: reading and writing a lift, its batches and checkpoints; in folders, its `graph`, its `plan`, the `pieces` of the
graph, and the graph in float64 (`double`). Not here: how a plan is found (`legacy.saved`) and how it runs
(`legacy.rerun`, `modern.lifted`).
Start with `plan/plan.py`, then `workload.py`."""

from __future__ import annotations

import os

#: Name of the file that makes a folder a lift.
PLAN = "workload.json"
#: Name of the checkpoint in it.
VALUES = "variables"


def is_lift_folder(path: str) -> bool:
    """Returns whether `path` is a folder that holds a lift. Needs no TensorFlow."""
    return os.path.isfile(os.path.join(path, PLAN))
