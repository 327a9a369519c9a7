"""Towers of several processes, as in 2016: servers, between-graph replicas, variables on parameter servers.

Every worker builds the graph of its own tower; `replica_device_setter` puts variables on the parameter servers.
Synchronous updates are `SyncReplicasOptimizer`'s: accumulators on the servers take one gradient a worker. Without it,
each worker applies its own gradient when it has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, List

import numpy as np
import tensorflow as tf

from legacy.towers import graph, optimizers, update
from legacy.towers.frame import TowerFrame
from legacy.towers.program import session_config
from legacy.towers.state_ops import build_state_loader, state_feed, variables_by_kind
from workloads import schedules, tracing
from workloads.numerics import combining
from workloads.program import Program, State, initial_state
from workloads.support.errors import require
from workloads.tower_loss import tower_loss
from workloads.variable_spec import initial_values

if TYPE_CHECKING:
    from workloads.job import Job
    from workloads.sources import Source
    from workloads.variable_spec import VariableSpec
    from workloads.workload import Clip

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
    """Raises `InputError` for what towers of several processes cannot do."""
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


class ClusterWorker(Program):
    """One worker's tower, in a session on its server, as a `Program` that is run and not observed.

    Args:
      job: the `Job`; its replicas are the workers.
      source: of its batches.
      cluster: {"worker": addresses, "ps": addresses}.
      index: this worker's number; 0 is the chief, which initializes and applies.
      sync: whether updates wait for all workers.
      target: of this worker's server.
      exact: Grappler off; see `LegacyOptions`.
    """

    side = "legacy"

    def __init__(
        self,
        job: Job,
        source: Source,
        cluster: Mapping[str, Sequence[str]],
        index: int,
        sync: bool,
        target: str,
        exact: bool = False,
    ) -> None:
        check_cluster_job(job)
        self._job, self._source, self._index, self._sync = job, source, index, sync
        self._step = 0
        self._specs = tracing.trace(job.workload, job.per_replica_batch, job.dtype)
        with tf.Graph().as_default():
            worker = f"/job:worker/task:{index}"
            with v1.device(v1.train.replica_device_setter(worker_device=worker, cluster=v1.train.ClusterSpec(cluster))):
                hooks = self._build(sync)
            # The chief's first assignment is the initialization: nobody sees another value before it.
            scaffold = self._initialization() if index == 0 else v1.train.Scaffold()
            creator = v1.train.ChiefSessionCreator if index == 0 else _WaitingCreator
            config = session_config(["CPU:0"], exact)
            self._session = v1.train.MonitoredSession(creator(scaffold, target, config), hooks)

    def variables(self) -> tuple[VariableSpec, ...]:
        return self._specs

    def describe(self) -> dict[str, str]:
        return {"program": "SyncReplicasOptimizer" if self._sync else "asynchronous workers"}

    def run(self, steps: int) -> list[np.ndarray]:
        """Takes so many steps; returns this worker's loss of the last."""
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

    def _build(self, sync: bool) -> list[Any]:
        """Builds the tower and its update; returns the session's hooks."""
        job, workload = self._job, self._job.workload
        global_step = v1.train.get_or_create_global_step()
        step = tf.identity(global_step)
        rate = schedules.rate_tensor(workload.learning_rate, step, job.global_batch)
        inner = optimizers.tf1_optimizer(workload.optimizer, rate)
        self._batch = {
            name: v1.placeholder(spec.dtype(job.dtype), (job.per_replica_batch,) + tuple(spec.shape), name)
            for name, spec in sorted(workload.inputs().items())
        }
        frame = TowerFrame(job, step, self._index, {}, None)
        loss = tower_loss(workload, frame, self._batch)
        gradients = graph.tower_gradients(inner, loss, frame, frame.variables)
        weights = {name: frame.variables[name] for name in gradients}
        optimizer: Any = _Clipping(inner, workload.clip)
        hooks: List[Any] = []
        if sync:
            optimizer = v1.train.SyncReplicasOptimizer(optimizer, job.replicas, job.replicas)
            # No tokens to begin with: with some, a fast worker could give two gradients to one update.
            hooks = [optimizer.make_session_run_hook(self._index == 0, num_tokens=0)]
        clipped = combining.clip(list(gradients.values()), workload.clip, "tower")
        apply = optimizer.apply_gradients(list(zip(clipped, weights.values())), global_step)
        statistics = [v1.assign(frame.variables[name], value) for name, value in frame.updates.items()]
        chief = self._index == 0
        train_ops = {0: tf.group(apply, *(statistics if chief else []))}
        averages: update.Variables = {}
        if chief or not sync:  # a synchronous update is averaged once, by the chief, before it gives its next gradient
            train_ops, averages = update.average_weights(workload, train_ops, global_step, weights)
        self._tower = graph.TowerGraph(
            train_ops=train_ops,
            losses=[loss],
            gradients=[gradients],
            combined={},
            learning_rate=rate,
            global_step=global_step,
            variables=frame.variables,
            slots=optimizers.slot_variables(inner, workload.optimizer, weights),
            averages=averages,
            proposals=[],
            masks=[],
        )
        return hooks


class _WaitingCreator(tf.compat.v1.train.WorkerSessionCreator):
    """A worker's session creator that looks every second whether the chief has initialized, not every thirty."""

    def _get_session_manager(self) -> Any:
        manager = super()._get_session_manager()
        manager._recovery_wait_secs = 1
        return manager


class _Clipping:
    """An optimizer that clips the gradients it is given to apply, where the workload clips combined gradients."""

    def __init__(self, optimizer: tf.compat.v1.train.Optimizer, clip: Clip | None) -> None:
        self._optimizer, self._clip = optimizer, clip

    def __getattr__(self, name: str) -> Any:
        return getattr(self._optimizer, name)

    def apply_gradients(
        self, grads_and_vars: Iterable[Any], global_step: tf.Variable | None = None, name: str | None = None
    ) -> tf.Operation:
        """As `tf.compat.v1.train.Optimizer.apply_gradients`.

        Args:
          grads_and_vars: (gradient, variable) of every weight.
          global_step: incremented after the update, or None.
          name: of the op.

        Returns:
          The op that applies the clipped gradients.
        """
        gradients, variables = zip(*grads_and_vars)
        clipped = combining.clip(list(gradients), self._clip, "combined")
        return self._optimizer.apply_gradients(list(zip(clipped, variables)), global_step, name)
