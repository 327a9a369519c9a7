"""Towers of several processes, as in 2016: servers, between-graph replicas, variables on parameter servers.

Every worker builds the graph of its own tower; `replica_device_setter` puts variables on the parameter servers.
Synchronous updates are `SyncReplicasOptimizer`'s: accumulators on the servers take one gradient a worker. Without it,
each worker applies its own gradient when it has one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from legacy.towers.program import session_config
from legacy.towers.state_ops import build_state_loader, state_feed, variables_by_kind
from legacy.towers.worker_graph import build_worker_graph
from workloads import tracing
from workloads.program import Program, State, initial_state
from workloads.support.errors import require
from workloads.variable_spec import initial_values

if TYPE_CHECKING:
    from workloads.job import Job
    from workloads.sources import Source
    from workloads.variable_spec import VariableSpec

v1 = tf.compat.v1


def start_server(cluster: Mapping[str, Sequence[str]], job: str, index: int) -> tf.compat.v1.train.Server:
    """Starts TensorFlow's server of one task in this process.

    Args:
      cluster: {job: addresses}.
      job: "worker" or "ps".
      index: number of the task.

    Returns:
      The server, which runs until the process ends.
    """
    return v1.train.Server(v1.train.ClusterSpec(cluster), job_name=job, task_index=index)


def check_cluster_job(job: Job) -> None:
    """Raises `InputError` for a job that towers of several processes cannot run."""
    workload = job.workload
    require(workload.combine == "mean", "--workload", workload.name, "accumulators give the mean of the gradients")
    require(
        job.staleness is None, "--staleness", job.staleness, "not with --cluster; --updates=async is late by itself"
    )
    require(
        workload.statistics == "first_tower" or job.replicas == 1,
        "--workload",
        workload.name,
        "statistics of several processes are the first one's",
    )


@dataclasses.dataclass(frozen=True)
class WorkerTask:
    """A worker's place in its cluster.

    Attributes:
      cluster: {"worker": addresses, "ps": addresses}.
      index: the worker's number; 0 is the chief, which initializes and applies.
      target: address of the worker's own server, for its session.
    """

    cluster: Mapping[str, Sequence[str]]
    index: int
    target: str

    @property
    def is_chief(self) -> bool:
        """Whether the worker initializes and applies."""
        return self.index == 0


class ClusterWorker(Program):
    """One worker's tower, in a session on its server, as a `Program` that is run and not observed.

    Args:
      job: the `Job`; its replicas are the workers.
      source: of its batches.
      task: the worker's place in its cluster.
      sync: whether updates wait for all workers.
      exact: Grappler off; see `LegacyOptions`.
    """

    side = "legacy"

    def __init__(self, job: Job, source: Source, task: WorkerTask, sync: bool, exact: bool = False) -> None:
        check_cluster_job(job)
        self._job, self._source, self._index, self._sync = job, source, task.index, sync
        self._step = 0
        self._specs = tracing.trace(job.workload, job.per_replica_batch, job.dtype)
        with tf.Graph().as_default():
            worker, spec = f"/job:worker/task:{task.index}", v1.train.ClusterSpec(task.cluster)
            with v1.device(v1.train.replica_device_setter(worker_device=worker, cluster=spec)):
                self._tower, self._batch, hooks = build_worker_graph(job, task.index, sync)
            # The chief's first assignment is the initialization: nobody sees another value before it.
            scaffold = self._initialization() if task.is_chief else v1.train.Scaffold()
            creator = v1.train.ChiefSessionCreator if task.is_chief else _WaitingCreator
            config = session_config(["CPU:0"], exact)
            self._session = v1.train.MonitoredSession(creator(scaffold, task.target, config), hooks)

    def variables(self) -> tuple[VariableSpec, ...]:
        return self._specs

    def describe(self) -> dict[str, str]:
        return {"program": "SyncReplicasOptimizer" if self._sync else "asynchronous workers"}

    def run(self, steps: int) -> list[np.ndarray]:
        """Takes `steps` steps; returns this worker's loss of the last."""
        for step in range(self._step, self._step + steps):
            shard = self._source.shards(step)[self._index]
            feed = {self._batch[name]: shard[name] for name in self._batch}
            loss, _ = self._session.run([self._tower.losses[0], self._tower.train_ops[0]], feed)
        self._step += steps
        return [loss]

    def state(self) -> State:
        """The `State` on the parameter servers."""
        return State(self._step, **self._session.run(variables_by_kind(self._tower)))

    def close(self) -> None:
        """Leaves the session to the end of the process: the chief's would wait two minutes for a last gradient."""

    def _initialization(self) -> tf.compat.v1.train.Scaffold:
        holders, load = build_state_loader(self._tower)
        state = initial_state(self._job, self._specs, initial_values(self._specs, self._job.seed))
        return v1.train.Scaffold(init_op=load, init_feed_dict=state_feed(holders, state, state.step))


class _WaitingCreator(tf.compat.v1.train.WorkerSessionCreator):
    """A worker's session creator that looks every second whether the chief has initialized, not every thirty."""

    def _get_session_manager(self) -> Any:
        manager = super()._get_session_manager()
        manager._recovery_wait_secs = 1
        return manager
