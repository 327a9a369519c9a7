"""The recorded old programs of `tests/legacy/recordings`, lifted once and shared by the tests."""

import functools
import os
import tempfile

from legacy.options import LegacyOptions
from legacy.saved.lifting import LiftOptions, lift_graph
from modern.options import ModernOptions
from parity.comparison.setup import Setup
from workloads.job import Job
from workloads.lifted.sources import LiftedSynthetic
from workloads.selection import registry

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "legacy", "recordings")
NAMES = sorted(os.listdir(FOLDER))
TRAIN_OPS = {"l_gan": ["d_train", "g_train"]}

_made = tempfile.TemporaryDirectory()


def path(name, *parts):
    """A file of a recorded program."""
    return os.path.join(FOLDER, name, *parts)


@functools.lru_cache(maxsize=None)
def lifted(name):
    """The folder of a program's lift, from its recorded checkpoint."""
    out = os.path.join(_made.name, name)
    options = LiftOptions(TRAIN_OPS.get(name, []), name=name)
    lift_graph(path(name, "graph.meta"), out, path(name, "model.ckpt"), options)
    return out


def setup(name, replicas=None, all_reduce="tower_order", make_source=LiftedSynthetic, folder=None):
    """`pair.Setup` of a program's lift, at its own number of towers unless told otherwise."""
    workload = registry.get(folder or lifted(name))
    job = Job(workload, replicas or workload.plan.towers)
    return Setup(job, make_source, LegacyOptions(exact=True), ModernOptions(all_reduce=all_reduce, exact=True))
