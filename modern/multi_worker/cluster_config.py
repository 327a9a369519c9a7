"""Which worker of which cluster this process is: from `TF_CONFIG`, or from SLURM."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from typing import Any

from workloads.support.errors import InputError, require

#: What TensorFlow's long message says of the way to a worker that is gone.
_WHY = re.compile(
    "Connection reset by peer|Connection refused|Socket closed|failed to connect to all addresses"
    "|[^.:\n]*heartbeat[^.:\n]*"
)


@dataclasses.dataclass(frozen=True)
class Worker:
    """One of the workers of a cluster.

    Attributes:
      resolver: the `tf.distribute.cluster_resolver.ClusterResolver` that knows all of them.
      index: this worker's number, from 0; worker 0 is the chief.
      count: how many there are.
    """

    resolver: Any
    index: int
    count: int

    @property
    def chief(self):
        """Whether this worker writes what is written once."""
        return self.index == 0


def from_environment():
    """The `Worker` that `TF_CONFIG`, or else SLURM, says this process is.

    Raises:
      InputError: neither says so, or `TF_CONFIG` is not usable.
    """
    import tensorflow as tf  # here, so that who starts workers need not wait for it

    resolvers = tf.distribute.cluster_resolver
    if os.environ.get("TF_CONFIG"):
        cluster, kind, index = tf_config(("chief", "worker"))
        known = len(cluster.get(kind, ()))
        require(0 <= index < known, "TF_CONFIG task index", index, f"the cluster has {known} of {kind!r}")
        resolver = resolvers.TFConfigClusterResolver()
    elif "SLURM_PROCID" in os.environ:
        # Which GPUs a task sees is SLURM's business. TensorFlow's resolver wants at least one a task, or has no tasks.
        tasks = int(os.environ["SLURM_STEP_NUM_TASKS"])
        resolver = resolvers.SlurmClusterResolver(gpus_per_node=tasks, gpus_per_task=1, auto_set_gpu=False)
    else:
        raise InputError("TF_CONFIG: not set, and no SLURM job; it must name the cluster and this worker's place in it")
    spec = resolver.cluster_spec().as_dict()
    order = [("chief", i) for i in range(len(spec.get("chief", ())))]
    order += [("worker", i) for i in range(len(spec.get("worker", ())))]
    return Worker(resolver, order.index((resolver.task_type, resolver.task_id)), len(order))


def config(addresses, index, job="worker"):
    """The text of `TF_CONFIG` for worker `index` of those at `addresses` ("host:port")."""
    return json.dumps({"cluster": {job: list(addresses)}, "task": {"type": job, "index": index}})


def lost(worker, error):
    """One line about a `tf.errors.OpError` that ended a worker's step: who is gone, as far as TensorFlow tells."""
    told = re.findall(r"/job:(\w+)/replica:\d+/task:(\d+)", str(error))
    others = sorted({"{} {}".format(*name) for name in told if int(name[1]) != worker.index})
    who = " ({})".format(", ".join(others)) if others else ""
    return f"worker {worker.index} of {worker.count} stops: a worker{who} was lost ({reason(error)})"


def reason(error):
    """What a `tf.errors.OpError` says of the way to another process, in a few words; else the error's name."""
    found = _WHY.search(str(error))
    return found.group().strip() if found else type(error).__name__


def tf_config(kinds):
    """(cluster, task type, task index) of `TF_CONFIG`; None if it is not set.

    Raises:
      InputError: it is no such JSON, or the task is of none of `kinds`.
    """
    text = os.environ.get("TF_CONFIG")
    if not text:
        return None
    try:
        content = json.loads(text)
        cluster, task = content["cluster"], content["task"]
        kind, index = task["type"], int(task["index"])
    except (ValueError, KeyError, TypeError):
        raise InputError(f'TF_CONFIG: got {text[:80]!r}, must be JSON with "cluster" and "task" (type, index)')
    require(kind in kinds, "TF_CONFIG task type", kind, "allowed: " + ", ".join(kinds))
    return cluster, kind, index
