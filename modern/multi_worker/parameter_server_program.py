"""`ParameterServerProgram`: workers that update variables on servers, each when it is ready, as a `Program`."""

from __future__ import annotations

import collections
import logging

import numpy as np
import tensorflow as tf

from modern.mirrored import update_rules
from modern.mirrored.variables import MirroredState
from modern.multi_worker import local_servers
from modern.multi_worker.parameter_server_step import WorkerStep
from workloads import scope
from workloads.numerics import staleness
from workloads.program import Program, StepRecord, initial_state
from workloads.records.writer import batch_digest, example_ids


class ParameterServerProgram(Program):
    """Runs `job` under `ParameterServerStrategy`, one replica a worker, from this process, the coordinator.

    A step is one global batch: as many updates as there are replicas, in whatever order they come. A worker is handed
    its batch with its work, so that what it left undone when it was lost is done by another with the same examples.
    Where a worker is lost between two of an update's writes, the update is made again from its beginning.

    Args:
      job: the `Job`; its replicas are the workers.
      source: `sources.Source` of its batches.
      options: `ModernOptions`.
      resolver: the `ClusterResolver` that knows workers and servers.
      started: `servers.Servers` to close with this program, or None.
    """

    side = "modern"

    def __init__(self, job, source, options, resolver, started=None):
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": options.exact})
        self._job, self._source, self._options = job, source, options
        self._specs = scope.trace(job.workload, job.per_replica_batch, job.dtype)
        logging.getLogger("tensorflow").addFilter(_first_line)
        self.strategy = tf.distribute.ParameterServerStrategy(resolver)
        self._coordinator = tf.distribute.coordinator.ClusterCoordinator(self.strategy)
        state = initial_state(job, self._specs, scope.initial_values(self._specs, job.seed))
        self._variables = MirroredState(self.strategy, state)
        self._worker_step = WorkerStep(job, options, self._variables, update_rules.Tf1Rules(job.workload.optimizer))
        self._observed = [self._function(replica, observed=True) for replica in range(job.replicas)]
        self._unobserved = [self._function(replica, observed=False) for replica in range(job.replicas)]
        self._started = started
        self._servers = len(resolver.cluster_spec().as_dict()["ps"])
        self._step = 0
        #: {updates that others made in between: how many updates this happened to}.
        self.staleness = collections.Counter()

    def variables(self):
        return self._specs

    def describe(self):
        return {
            "program": "tf.distribute.ParameterServerStrategy",
            "devices": f"{self._job.replicas} workers, {self._servers} parameter servers",
            "input": "from the coordinator",
            "variables on": "parameter servers",
            "reduction": "none: every update by itself",
            "update rules": "tf1: the kernels of tf.compat.v1.train",
            "autodiff": "tf.gradients" if self._options.autodiff == "graph" else "tf.GradientTape",
            "Grappler": "off" if self._options.exact else "on",
        }

    def load(self, state):
        self._variables.load(state)
        self._variables.step.assign(state.step * self._job.replicas)
        self._step = state.step

    def state(self):
        state = self._variables.read()[0]
        state.step = self._step
        return state

    def step(self):
        shards = self._source.shards(self._step)
        seen = [value.fetch() for value in self._schedule(self._observed, self._step, shards)]
        self._count(late for _, late in seen)
        seen = [shown for shown, _ in seen]
        self._step += 1
        # With one replica there is one update, and it is what the optimizer of a synchronous step would get.
        combined = seen[0].combined if len(seen) == 1 else staleness.names([shown.combined for shown in seen])
        return StepRecord(
            step=self._step - 1,
            digests=[batch_digest(shard) for shard in shards],
            losses=[np.asarray(shown.loss) for shown in seen],
            gradients=[shown.gradients for shown in seen],
            combined=combined,
            learning_rate=np.asarray(seen[0].learning_rate),
            state=self.state(),
            examples=[example_ids(shard) for shard in shards],
            masks=[shown.masks for shown in seen],
            proposals=[shown.proposals for shown in seen],
        )

    def run(self, steps):
        scheduled = []
        for step in range(self._step, self._step + steps):
            scheduled += self._schedule(self._unobserved, step, self._source.shards(step), wait=False)
        self._coordinator.join()
        seen = [value.fetch() for value in scheduled]
        self._count(late for _, late in seen)
        self._step += steps
        return [np.asarray(loss) for loss, _ in seen[-self._job.replicas :]]

    def staleness_line(self):
        """What `staleness` says, for people."""
        total = sum(self.staleness.values())
        mean = sum(late * count for late, count in self.staleness.items()) / max(1, total)
        shares = ", ".join(f"{late}: {self.staleness[late] / total:.1%}" for late in sorted(self.staleness))
        return f"staleness of {total} updates (others' updates between reading and writing): mean {mean:.2f}; {shares}"

    def close(self):
        """Lets go of what the servers hold for this process, while they are there."""
        self._coordinator = self._observed = self._unobserved = None
        if self._started is not None:
            self._started.close()

    def _function(self, replica, observed):
        def work(step, batch):
            seen, late = self._worker_step(step, replica, batch)
            return (seen if observed else seen.loss), late

        return tf.function(work, autograph=False)

    def _schedule(self, functions, step, shards, wait=True):
        values = [
            self._coordinator.schedule(function, (tf.constant(step, tf.int64), dict(shard)))
            for function, shard in zip(functions, shards)
        ]
        if wait:
            self._coordinator.join()
        return values

    def _count(self, lates):
        self.staleness.update(max(0, int(late)) for late in lates)


def _first_line(record):
    """A lost worker is told in one line: TensorFlow's message has the batch and a traceback in it."""
    record.msg, record.args = record.getMessage().partition("\n")[0][:160], ()
    return True


def on_this_machine(job, source, options, parameter_servers):
    """A `ParameterServerProgram` with servers of its own."""
    started = local_servers.Servers(job.replicas, parameter_servers)
    try:
        return ParameterServerProgram(job, source, options, local_servers.resolver(started.cluster), started)
    except BaseException:
        started.close()
        raise
