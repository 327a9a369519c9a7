"""TensorFlow's own servers, of workers and parameter servers: the one this process is, and those it starts."""

from __future__ import annotations

import multiprocessing.connection
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from workloads.support.processes import addresses, child_processes

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.multi_worker.cluster_config import Cluster

#: See `keep_to_the_end`.
_kept: list[object] = []


class LocalServers:
    """Workers and parameter servers on this machine, each a process, ended when this is closed.

    They run without oneDNN: with it, several workers corrupted their heaps within a few steps of a convolutional net
    (TensorFlow 2.21, "double free or corruption"; never without it).

    Args:
      workers: how many.
      parameter_servers: how many.

    Attributes:
      cluster: {job: addresses} of them and of the coordinator, as `TF_CONFIG` has it.
      children: {"worker 0": `Child`}.
    """

    def __init__(self, workers: int, parameter_servers: int) -> None:
        self.cluster = divide_addresses(addresses.free_addresses(workers + parameter_servers + 1), workers)
        self.children: dict[str, child_processes.Child] = {}
        self._closing = False
        try:
            for job in ("worker", "ps"):
                for index in range(len(self.cluster[job])):
                    name = f"{job} {index}"
                    self.children[name] = child_processes.Child(
                        name, _serve_child, (self.cluster, job, index), exact=True
                    )
            child_processes.receive_from_all(list(self.children.values()))
        except BaseException:
            self.close()
            raise

    def watch_workers(self, on_loss: Callable[[], object]) -> threading.Thread:
        """Starts a thread that calls `on_loss` once no worker runs: a coordinator would wait for a new one for ever."""
        workers = [child.sentinel for name, child in self.children.items() if name.startswith("worker")]

        def watch() -> None:
            running = set(workers)
            while running:
                running -= set(multiprocessing.connection.wait(list(running)))
            if not self._closing:
                on_loss()

        thread = threading.Thread(target=watch, name="watching workers", daemon=True)
        thread.start()
        return thread

    @property
    def all_running(self) -> bool:
        """Whether none of them has ended."""
        return all(child.alive for child in self.children.values())

    def close(self) -> None:
        """Ends them all."""
        self._closing = True
        child_processes.stop_all(self.children.values())

    def __enter__(self) -> LocalServers:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            keep_to_the_end(error)
        self.close()


def keep_to_the_end(held: object) -> None:
    """Keeps what refers to functions on servers, such as an exception with its frames, until the process ends.

    TensorFlow removes a function from all servers when its last reference goes, and prints an error of several lines
    for each server that does not answer. A process ends without removing anything: its servers drop what it held.
    """
    _kept.append(held)


def divide_addresses(places: list[str], workers: int) -> Cluster:
    """Gives the first `workers` addresses to workers, the last to the coordinator, the others to parameter servers.

    >>> divide_addresses(["a:1", "b:2", "c:3", "d:4"], 2)
    {'worker': ['a:1', 'b:2'], 'ps': ['c:3'], 'chief': ['d:4']}
    """
    return {"worker": places[:workers], "ps": places[workers:-1], "chief": places[-1:]}


def coordinator_resolver(cluster: Cluster) -> tf.distribute.cluster_resolver.ClusterResolver:
    """Makes the `ClusterResolver` of the coordinator of `cluster`."""
    import tensorflow as tf

    return tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec(cluster), task_type="chief", task_id=0, rpc_layer="grpc"
    )


def serve_task(cluster: Cluster, job: str, index: int) -> None:
    """Runs the server of one task in this process; does not return.

    Args:
      cluster: {job: addresses}.
      job: "worker" or "ps".
      index: number of the task.
    """
    _start_server(cluster, job, index).join()


def _serve_child(speaker: Any, cluster: Cluster, job: str, index: int) -> None:
    server = _start_server(cluster, job, index)
    speaker.say(server.target)
    speaker.listen()  # until the parent closes the connection


def _start_server(cluster: Cluster, job: str, index: int) -> tf.distribute.Server:
    import tensorflow as tf

    # A worker that waits for a server must leave a thread to the server's answer: TensorFlow's guide asks for so many.
    threads = max(4, len(cluster["worker"]) + 1)
    config = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=threads)
    return tf.distribute.Server(
        tf.train.ClusterSpec(cluster), job_name=job, task_index=index, config=config, protocol="grpc"
    )
