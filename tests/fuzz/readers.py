"""`python -m tests.fuzz.readers KIND PATH`: readers that only slow commands reach, called as those call them."""

from __future__ import annotations

from workloads.support.command_line import command
from workloads.support.errors import InputError


def main(*arguments: str) -> int:
    """Reads the file or folder of a kind; returns 0 if it is sound."""
    READERS[arguments[0]](*arguments[1:])
    return 0


def read_data_dir(path: str) -> None:
    """Reads `--data_dir`."""
    from workloads.data import folder
    from workloads.selection import registry

    folder.open_folder(path, registry.get("cifar_cnn"))


def read_data(path: str, lift: str) -> None:
    """Reads `--data` of a lift, and takes its first batch."""
    from workloads.data.opening import open_data
    from workloads.job import Job
    from workloads.lifted.sources import LiftedOwnData
    from workloads.lifted.workload import load_lift

    LiftedOwnData(Job(load_lift(lift), 2), open_data(path)).shards(0)


def read_cluster(path: str) -> None:
    """Reads TF_CONFIG, whose text a file holds."""
    from modern.multi_worker.cluster_config import parse_tf_config, worker_number

    with open(path, "rb") as file:
        text = file.read().decode("utf-8", "surrogateescape")  # as `os.environ` gives it
    task = parse_tf_config(text, ("chief", "worker"))
    if not 0 <= task.index < len(task.cluster.get(task.job, ())):
        raise InputError("TF_CONFIG task index: not in the cluster")
    worker_number(task.cluster, task.job, task.index)


READERS = {"data_dir": read_data_dir, "data": read_data, "cluster": read_cluster}

if __name__ == "__main__":
    import sys

    raise SystemExit(command.status_of(lambda: main(*sys.argv[1:])))
