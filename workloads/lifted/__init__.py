"""A lifted workload: an old program's own graph, cut into the pieces that a replica runs, and where each one goes."""

import os

#: The file that makes a folder a lift.
PLAN = "workload.json"


def is_lifted(name):
    """Whether a workload's name is a folder that holds a lift. Needs no TensorFlow."""
    return os.path.isfile(os.path.join(name, PLAN))
