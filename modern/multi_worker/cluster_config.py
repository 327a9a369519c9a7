"""The place of this process in a cluster, from `TF_CONFIG` or SLURM, and one-line messages about lost processes."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Mapping, Sequence

from modern.collectives.worker import Worker
from workloads.support.errors import InputError, require

#: {job: addresses}, as in `TF_CONFIG`.
Cluster = dict[str, list[str]]

#: The part of TensorFlow's long message that says how the connection to another process ended.
_CONNECTION = re.compile(
    "Connection reset by peer|Connection refused|Socket closed|failed to connect to all addresses"
    "|[^.:\n]*heartbeat[^.:\n]*"
)


@dataclasses.dataclass(frozen=True)
class Task:
    """One task of a cluster, as `TF_CONFIG` describes it.

    Attributes:
      cluster: {job: addresses}.
      job: "worker", "ps" or "chief".
      index: number of the task within its job.
    """

    cluster: Cluster
    job: str
    index: int


def parse_tf_config(text: str, jobs: Sequence[str]) -> Task:
    """Parses the text of `TF_CONFIG`.

    >>> parse_tf_config('{"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 1}}', ["worker"])
    Task(cluster={'worker': ['a:1', 'b:2']}, job='worker', index=1)

    Raises:
      InputError: it is no such JSON, or the task is of none of `jobs`.
    """
    try:
        content = json.loads(text)
        cluster, task = content["cluster"], content["task"]
        job, index = task["type"], int(task["index"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise InputError(f'TF_CONFIG: got {text[:80]!r}, must be JSON with "cluster" and "task" (type, index)')
    require(_is_cluster(cluster), "TF_CONFIG cluster", str(cluster)[:80], 'must be {job: ["host:port", ...]}')
    require(type(task["index"]) in (int, str), "TF_CONFIG task index", task["index"], "must be a number")
    require(isinstance(job, str), "TF_CONFIG task type", job, "allowed: " + ", ".join(jobs))
    require(job in jobs, "TF_CONFIG task type", job, "allowed: " + ", ".join(jobs))
    return Task(cluster, job, index)


def _is_cluster(cluster: object) -> bool:
    """Returns whether a value is {job: list of addresses}."""
    return isinstance(cluster, dict) and all(
        isinstance(addresses, list) and all(isinstance(address, str) and ":" in address for address in addresses)
        for addresses in cluster.values()
    )


def task_from_environment(jobs: Sequence[str]) -> Task | None:
    """Returns the task that `TF_CONFIG` describes; None if it is not set.

    Raises:
      InputError: see `parse_tf_config`.
    """
    text = os.environ.get("TF_CONFIG")
    return parse_tf_config(text, jobs) if text else None


def tf_config_text(addresses: Sequence[str], index: int, job: str = "worker") -> str:
    """Formats `TF_CONFIG` for one of several tasks of one job.

    >>> tf_config_text(["a:1", "b:2"], 1)
    '{"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 1}}'

    Args:
      addresses: "host:port" of every task.
      index: number of this task.
      job: name of the job.

    Returns:
      JSON text.
    """
    return json.dumps({"cluster": {job: list(addresses)}, "task": {"type": job, "index": index}})


def worker_number(cluster: Mapping[str, Sequence[str]], job: str, index: int) -> int:
    """Numbers the tasks that train: the chief, if there is one, then the workers.

    >>> worker_number({"chief": ["a:1"], "worker": ["b:2", "c:3"]}, "worker", 1)
    2

    Args:
      cluster: {job: addresses}.
      job: "chief" or "worker".
      index: number of the task within its job.

    Returns:
      The number of the task, from 0.
    """
    return index + (len(cluster.get("chief", ())) if job == "worker" else 0)


def worker_from_environment() -> Worker:
    """Returns the `Worker` that this process is according to `TF_CONFIG`, or else to SLURM.

    Raises:
      InputError: neither is set, or `TF_CONFIG` is not usable.
    """
    import tensorflow as tf  # here, so that what starts workers need not wait for it

    resolvers = tf.distribute.cluster_resolver
    task = task_from_environment(("chief", "worker"))
    if task is not None:
        known = len(task.cluster.get(task.job, ()))
        require(0 <= task.index < known, "TF_CONFIG task index", task.index, f"the cluster has {known} of {task.job!r}")
        resolver = resolvers.TFConfigClusterResolver()
    elif "SLURM_PROCID" in os.environ:
        # Which GPUs a task sees is SLURM's business. TensorFlow's resolver wants at least one a task, or has no tasks.
        tasks = int(os.environ["SLURM_STEP_NUM_TASKS"])
        resolver = resolvers.SlurmClusterResolver(gpus_per_node=tasks, gpus_per_task=1, auto_set_gpu=False)
    else:
        raise InputError("TF_CONFIG: not set, and no SLURM job; it must name the cluster and this worker's place in it")
    cluster = resolver.cluster_spec().as_dict()
    number = worker_number(cluster, resolver.task_type, resolver.task_id)
    hosts = [host_of(address) for job in ("chief", "worker") for address in cluster.get(job, ())]
    return Worker(resolver, number, len(hosts), hosts.count(hosts[number]))


def host_of(address: str) -> str:
    """Returns the host of an address.

    >>> host_of("127.0.0.1:20000"), host_of("[::1]:20000")
    ('127.0.0.1', '[::1]')
    """
    return address.rpartition(":")[0]


def lost_worker_message(worker: Worker, error: Exception) -> str:
    """Describes in one line the `tf.errors.OpError` that ended a worker's step, naming the others in its message."""
    named = re.findall(r"/job:(\w+)/replica:\d+/task:(\d+)", str(error))
    others = sorted({f"{job} {index}" for job, index in named if int(index) != worker.index})
    who = " ({})".format(", ".join(others)) if others else ""
    return f"worker {worker.index} of {worker.count} stops: a worker{who} was lost ({connection_failure(error)})"


def connection_failure(error: Exception) -> str:
    """Extracts from a `tf.errors.OpError` how the connection to another process ended; else the error's name.

    >>> connection_failure(RuntimeError("from task:1: recvmsg: Connection reset by peer. Additional information"))
    'Connection reset by peer'
    """
    found = _CONNECTION.search(str(error))
    return found.group().strip() if found else type(error).__name__
