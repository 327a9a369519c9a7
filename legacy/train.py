"""`python -m legacy.train --workload=cifar_cnn --replicas=2 --steps=200`: train on towers in a session.

On several machines: --cluster="worker=HOST:PORT,HOST:PORT;ps=HOST:PORT" and --task=worker:0, --task=ps:0, ... on each.
With numbers, --cluster="worker=2;ps=1", these tasks are started on this machine.
"""

from __future__ import annotations

import sys

from absl import flags

from legacy import flags as legacy_flags
from workloads.selection import flags as job_flags
from workloads.support import command, environment
from workloads.support.errors import require
from workloads.training import flags as training_flags

flags.DEFINE_string("cluster", None, "Tasks of several processes: their addresses, or how many to start here.")
flags.DEFINE_string("task", None, "With addresses in --cluster: which of them this process is, as worker:0.")

FLAGS = flags.FLAGS


def make_program(job, source, devices):
    """The towers that the flags say."""
    from legacy import factory

    options = legacy_flags.options_from_flags(exact=False, resident=source.fixed)
    return factory.program(job, source, options, devices)


def parse(text):
    """{"worker": addresses, "ps": addresses}; or numbers of tasks to start instead of addresses.

    Raises:
      InputError: it is neither.
    """
    expected = 'such as "worker=2;ps=1", or "worker=HOST:PORT,HOST:PORT;ps=HOST:PORT"'
    cluster = command.assignments(text.split(";"), "--cluster", expected)
    require(set(cluster) == {"worker", "ps"}, "--cluster", text, "expected worker and ps, " + expected)
    if all(tasks.isdigit() for tasks in cluster.values()):
        cluster = {job: int(tasks) for job, tasks in cluster.items()}
        require(min(cluster.values()) >= 1, "--cluster", text, "at least one of each")
        return cluster
    cluster = {job: tasks.split(",") for job, tasks in cluster.items()}
    for place in cluster["worker"] + cluster["ps"]:
        require(place.rpartition(":")[0] and place.rpartition(":")[2].isdigit(), "--cluster", place, expected)
    return cluster


def task_of(text, cluster):
    """(job, index) of `--task`.

    Raises:
      InputError: `cluster` has no such task.
    """
    job, _, index = (text or "").partition(":")
    known = [f"{name}:{number}" for name in ("worker", "ps") for number in range(len(cluster[name]))]
    require(f"{job}:{index}" in known, "--task", text, "allowed: " + ", ".join(known))
    return job, int(index)


def train_as_worker(cluster, index, target):
    """Trains as worker `index`, whose server is at `target`."""
    from legacy.towers import cluster as cluster_lib
    from workloads.training import loop

    job, make_source = job_flags.job_from_flags(workers=len(cluster["worker"]), replicas=1)
    require(FLAGS.replicas in (None, 1), "--replicas", FLAGS.replicas, "a worker of a cluster has one tower")
    worker = cluster_lib.ClusterWorker(job, make_source(job), cluster, index, FLAGS.updates == "sync", target)
    out = loop.Output(worker.side, FLAGS.json_lines, sys.stdout if index == 0 else None)
    loop.train(worker, job, FLAGS.steps, FLAGS.log_every, out)
    worker.close()


def start_tasks(counts):
    """Starts every task of the cluster on this machine, and waits for the workers."""
    from workloads.support import addresses, child_processes

    places = addresses.free(counts["worker"] + counts["ps"])
    cluster = {"worker": places[: counts["worker"]], "ps": places[counts["worker"] :]}
    started = {}
    try:
        for job in ("ps", "worker"):
            for index in range(counts[job]):
                name = f"{job} {index}"
                started[name] = child_processes.Child(name, _task, (sys.argv, cluster, job, index))
        child_processes.receive_from_all([child for name, child in started.items() if name.startswith("worker")])
    finally:
        child_processes.stop_all(started.values())


def _task(speaker, argv, cluster, job, index):
    from legacy.towers import cluster as cluster_lib

    FLAGS(argv)
    server = cluster_lib.start_server(cluster, job, index)
    if job == "worker":
        train_as_worker(cluster, index, server.target)
        speaker.say("done")
    speaker.listen()  # a server answers the others until all are done


def main():
    training_flags.check_flags()
    if FLAGS.cluster is None:
        environment.prepare(exact=False)
        job, make_source = job_flags.job_from_flags()
        with make_program(job, make_source(job), job_flags.devices_from_flags(job)) as program:
            return training_flags.train_from_flags(program, job)
    for name in ("checkpoint_dir", "summary_dir", "save"):
        require(not FLAGS[name].value, "--" + name, FLAGS[name].value, "not with --cluster")
    cluster = parse(FLAGS.cluster)
    if isinstance(cluster["worker"], int):
        start_tasks(cluster)
        return 0
    job, index = task_of(FLAGS.task, cluster)
    environment.prepare(exact=False)
    from legacy.towers import cluster as cluster_lib

    server = cluster_lib.start_server(cluster, job, index)
    if job == "ps":
        server.join()
    train_as_worker(cluster, index, server.target)
    return 0


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
