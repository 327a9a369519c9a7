"""Towers of several processes, as in 2016: servers, between-graph replicas, variables on parameter servers.

Every worker builds the graph of its own tower; `replica_device_setter` puts variables on the parameter servers.
Synchronous updates are `SyncReplicasOptimizer`'s: accumulators on the servers take one gradient a worker. Without it,
each worker applies its own gradient when it has one.
"""

from __future__ import annotations

import tensorflow as tf

from legacy.towers import graph, optimizers
from legacy.towers.frame import TowerFrame
from legacy.towers.program import build_loader, by_kind, feed_of, session_config
from workloads import scope
from workloads.numerics import combining
from workloads.program import Program, State, initial_state
from workloads.support.errors import require

v1 = tf.compat.v1


def server(cluster, job, index):
    """TensorFlow's server for task `index` of `job` in `cluster` ({job: addresses})."""
    return v1.train.Server(v1.train.ClusterSpec(cluster), job_name=job, task_index=index)


def check(job):
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
      source: `sources.Source` of its batches.
      cluster: {"worker": addresses, "ps": addresses}.
      index: this worker's number; 0 is the chief, which initializes and applies.
      sync: whether updates wait for all workers.
      target: of this worker's server.
      exact: Grappler off; see `LegacyOptions`.
    """

    side = "legacy"

    def __init__(self, job, source, cluster, index, sync, target, exact=False):
        check(job)
        self._job, self._source, self._index = job, source, index
        self._step = 0
        specs = scope.trace(job.workload, job.per_replica_batch, job.dtype)
        with tf.Graph().as_default():
            worker = f"/job:worker/task:{index}"
            with v1.device(v1.train.replica_device_setter(worker_device=worker, cluster=v1.train.ClusterSpec(cluster))):
                hooks = self._build(sync)
            # The chief's first assignment is the initialization: nobody sees another value before it.
            scaffold = self._initialization(specs) if index == 0 else v1.train.Scaffold()
            creator = v1.train.ChiefSessionCreator if index == 0 else _WaitingCreator
            config = session_config(["CPU:0"], exact)
            self._session = v1.train.MonitoredSession(creator(scaffold, target, config), hooks)

    def run(self, steps):
        """Takes so many steps, and returns the loss of the last."""
        for step in range(self._step, self._step + steps):
            shard = self._source.shards(step)[self._index]
            feed = {self._batch[name]: shard[name] for name in self._batch}
            loss, _ = self._session.run([self._ends.losses[0], self._ends.train_ops[0]], feed)
        self._step += steps
        return [loss]

    def state(self):
        """The `State` on the parameter servers."""
        return State(self._step, **self._session.run(by_kind(self._ends)))

    def close(self):
        """Leaves the session to the end of the process: the chief's would wait two minutes for a last gradient."""

    def _initialization(self, specs):
        holders, load = build_loader(self._ends)
        state = initial_state(self._job, specs, scope.initial_values(specs, self._job.seed))
        return v1.train.Scaffold(init_op=load, init_feed_dict=feed_of(holders, state, state.step))

    def _build(self, sync):
        """Builds the tower and its update; returns the session's hooks."""
        job, workload = self._job, self._job.workload
        global_step = v1.train.get_or_create_global_step()
        step = tf.identity(global_step)
        rate = workload.learning_rate(step, job.global_batch)
        inner = optimizers.make(workload.optimizer, rate)
        self._batch = {
            name: v1.placeholder(spec.dtype(job.dtype), (job.per_replica_batch,) + tuple(spec.shape), name)
            for name, spec in sorted(workload.inputs().items())
        }
        frame = TowerFrame(job, step, self._index, {}, None)
        loss = scope.tower_loss(workload, frame, self._batch)
        gradients = graph.tower_gradients(inner, loss, frame, frame.variables)
        weights = {name: frame.variables[name] for name in gradients}
        optimizer = _Clipping(inner, workload.clip)
        hooks = []
        if sync:
            optimizer = v1.train.SyncReplicasOptimizer(optimizer, job.replicas, job.replicas)
            # No tokens to begin with: with some, a fast worker could give two gradients to one update.
            hooks = [optimizer.make_session_run_hook(self._index == 0, num_tokens=0)]
        clipped = combining.clip(list(gradients.values()), workload.clip, "tower")
        apply = optimizer.apply_gradients(list(zip(clipped, weights.values())), global_step)
        statistics = [v1.assign(frame.variables[name], value) for name, value in frame.updates.items()]
        chief = self._index == 0
        train_ops = {0: tf.group(apply, *(statistics if chief else []))}
        averages = {}
        if chief or not sync:  # a synchronous update is averaged once, by the chief, before it gives its next gradient
            train_ops, averages = graph.average_weights(workload, train_ops, global_step, weights)
        self._ends = graph.TowerGraph(
            train_ops,
            [loss],
            [gradients],
            {},
            rate,
            global_step,
            frame.variables,
            optimizers.slot_variables(inner, workload.optimizer, weights),
            averages,
            [],
            [],
        )
        return hooks


class _WaitingCreator(v1.train.WorkerSessionCreator):
    """A worker's session, which looks every second whether the chief has initialized, and not every thirty."""

    def _get_session_manager(self):
        manager = super()._get_session_manager()
        manager._recovery_wait_secs = 1
        return manager


class _Clipping:
    """An optimizer that clips what it is given to apply, where the workload clips combined gradients."""

    def __init__(self, optimizer, rule):
        self._optimizer, self._rule = optimizer, rule

    def __getattr__(self, name):
        return getattr(self._optimizer, name)

    def apply_gradients(self, pairs, global_step=None, name=None):
        pairs = list(pairs)
        clipped = combining.clip([gradient for gradient, _ in pairs], self._rule, "combined")
        return self._optimizer.apply_gradients(
            [(gradient, variable) for gradient, (_, variable) in zip(clipped, pairs)], global_step, name
        )
