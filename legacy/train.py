"""`python -m legacy.train --workload=cifar_cnn --replicas=2 --steps=200`: train on towers in a session.

On several machines: --cluster="worker=HOST:PORT,HOST:PORT;ps=HOST:PORT" and --task=worker:0, --task=ps:0, ... on each.
With numbers, --cluster="worker=2;ps=1", these tasks are started on this machine.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from absl import flags

from legacy import flags as legacy_flags
from workloads.selection import flags as job_flags
from workloads.support.command_line import command
from workloads.support.errors import require
from workloads.support.machine import environment
from workloads.training import flags as training_flags

if TYPE_CHECKING:
    from legacy.towers.cluster import WorkerTask
    from workloads.support.processes.child_side import Speaker

flags.DEFINE_string(
    "cluster", None, "Tasks of several processes: their addresses, or their numbers, to start them on this machine."
)
flags.DEFINE_string("task", None, "With addresses in --cluster: the task of this process, as worker:0.")

FLAGS = flags.FLAGS


class TaskCounts(NamedTuple):
    """Numbers of tasks to start on this machine."""

    workers: int
    servers: int


def parse_cluster(text: str) -> TaskCounts | dict[str, list[str]]:
    """Parses `--cluster`.

    >>> parse_cluster("worker=2;ps=1")
    TaskCounts(workers=2, servers=1)
    >>> parse_cluster("worker=a:1,b:1;ps=c:1")
    {'worker': ['a:1', 'b:1'], 'ps': ['c:1']}

    Returns:
      numbers of tasks, or {"worker": addresses, "ps": addresses}.

    Raises:
      InputError: it is neither.
    """
    expected = 'such as "worker=2;ps=1", or "worker=HOST:PORT,HOST:PORT;ps=HOST:PORT"'
    given = command.assignments(text.split(";"), "--cluster", expected)
    require(set(given) == {"worker", "ps"}, "--cluster", text, "expected worker and ps, " + expected)
    if all(tasks.isdigit() for tasks in given.values()):
        counts = TaskCounts(int(given["worker"]), int(given["ps"]))
        require(min(counts) >= 1, "--cluster", text, "at least one of each")
        return counts
    cluster = {job: tasks.split(",") for job, tasks in given.items()}
    for place in cluster["worker"] + cluster["ps"]:
        require(place.rpartition(":")[0] and place.rpartition(":")[2].isdigit(), "--cluster", place, expected)
    return cluster


def parse_task(text: str | None, cluster: Mapping[str, Sequence[str]]) -> tuple[str, int]:
    """Returns (job, index) of `--task`, such as ("worker", 0).

    Raises:
      InputError: `cluster` has no such task.
    """
    job, _, index = (text or "").partition(":")
    known = [f"{name}:{number}" for name in ("worker", "ps") for number in range(len(cluster[name]))]
    require(f"{job}:{index}" in known, "--task", text, "allowed: " + ", ".join(known))
    return job, int(index)


def train_as_worker(task: WorkerTask) -> None:
    """Trains as one worker of a cluster."""
    from legacy.towers.cluster import ClusterWorker
    from workloads.training import loop

    job, make_source = job_flags.job_from_flags(workers=len(task.cluster["worker"]), replicas=1)
    require(FLAGS.replicas in (None, 1), "--replicas", FLAGS.replicas, "a worker of a cluster has one tower")
    source = make_source(job)
    worker = ClusterWorker(job, source, task, sync=FLAGS.updates == "sync")
    out = loop.Output(worker.side, FLAGS.json_lines, sys.stdout if task.is_chief else None)
    loop.train_program(worker, job, training_flags.steps_from_flags(source), FLAGS.log_every, out)
    worker.close()


def start_tasks(counts: TaskCounts) -> None:
    """Starts every task of the cluster on this machine and waits for the workers."""
    from workloads.support.processes import addresses, child_processes

    places = addresses.free_addresses(sum(counts))
    cluster = {"worker": places[: counts.workers], "ps": places[counts.workers :]}
    started: dict[str, child_processes.Child] = {}
    try:
        for job in ("ps", "worker"):
            for index in range(len(cluster[job])):
                name = f"{job} {index}"
                started[name] = child_processes.Child(name, _task, (sys.argv, cluster, job, index))
        child_processes.receive_from_all([child for name, child in started.items() if name.startswith("worker")])
    finally:
        child_processes.stop_all(started.values())


def _task(speaker: Speaker, argv: list[str], cluster: dict[str, list[str]], job: str, index: int) -> None:
    """Runs in a child process as task `index` of `job`."""
    from legacy.towers import cluster as cluster_lib

    FLAGS(argv)
    server = cluster_lib.start_server(cluster, job, index)
    if job == "worker":
        train_as_worker(cluster_lib.WorkerTask(cluster, index, server.target))
        speaker.say("done")
    speaker.listen()  # a server answers the others until all are done


def run_as_task(cluster: Mapping[str, Sequence[str]]) -> None:
    """Runs as the task that `--task` names: a worker trains, a parameter server serves until it is ended."""
    job, index = parse_task(FLAGS.task, cluster)
    environment.prepare(exact=False)
    from legacy.towers import cluster as cluster_lib

    server = cluster_lib.start_server(cluster, job, index)
    if job == "ps":
        server.join()
    train_as_worker(cluster_lib.WorkerTask(cluster, index, server.target))


def train_alone() -> int:
    """Trains in this process and returns the exit status."""
    environment.prepare(exact=False)
    job, make_source = job_flags.job_from_flags()
    source = make_source(job)
    with legacy_flags.program_from_flags(job, source, job_flags.devices_from_flags(job), exact=False) as program:
        return training_flags.train_from_flags(program, job, source)


def main() -> int:
    """Trains in this process, or as a task of a cluster, or as the parent of all tasks."""
    training_flags.check_flags()
    if FLAGS.cluster is None:
        return train_alone()
    for name in ("checkpoint_dir", "summary_dir", "save", "eval_data"):
        require(not FLAGS[name].value, "--" + name, FLAGS[name].value, "not with --cluster")
    cluster = parse_cluster(FLAGS.cluster)
    if isinstance(cluster, TaskCounts):
        start_tasks(cluster)
    else:
        run_as_task(cluster)
    return 0


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
