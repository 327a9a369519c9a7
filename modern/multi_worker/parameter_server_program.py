"""`ParameterServerProgram`: workers that update variables on servers, each when it is ready, as a `Program`."""

from __future__ import annotations

import collections
import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from modern.mirrored.state import tf1_rules
from modern.mirrored.state.variables import MirroredState
from modern.mirrored.step.step_tensors import StepTensors, Tensors, step_record
from modern.multi_worker import local_servers
from modern.multi_worker.measured_staleness import count_staleness, describe_staleness
from modern.multi_worker.parameter_server_step import WorkerStep
from modern.options import ModernOptions
from workloads import tracing
from workloads.job import Job
from workloads.numerics import staleness
from workloads.program import Arrays, Program, State, StepRecord, initial_state
from workloads.sources import Source
from workloads.support.wording import counted
from workloads.variable_spec import VariableSpec, initial_values


class ParameterServerProgram(Program):
    """Runs `job` under `ParameterServerStrategy`, one replica a worker, from this process, the coordinator.

    A step is one global batch: as many updates as there are replicas, in whatever order they come. A worker receives
    its batch with its work, so that the work of a lost worker is done by another with the same examples. Where a
    worker is lost between two of an update's writes, the update is made again from its beginning.

    Args:
      job: the `Job`; its replicas are the workers.
      source: of its batches.
      options: see `ModernOptions`.
      resolver: the `ClusterResolver` that knows workers and servers.
      started: servers to close with this program; None for servers that others end, of which this process cannot know
        whether they still run.

    Attributes:
      staleness: {updates that others made in between: how many updates this happened to}.
    """

    side = "modern"

    def __init__(
        self,
        job: Job,
        source: Source,
        options: ModernOptions,
        resolver: tf.distribute.cluster_resolver.ClusterResolver,
        started: local_servers.LocalServers | None = None,
    ) -> None:
        options.configure_grappler()
        self._job, self._source, self._options = job, source, options
        self._specs = tracing.trace(job.workload, job.per_replica_batch, job.dtype)
        logging.getLogger("tensorflow").addFilter(shorten_log_record)
        self.strategy = tf.distribute.ParameterServerStrategy(resolver)
        self._coordinator = tf.distribute.coordinator.ClusterCoordinator(self.strategy)
        state = initial_state(job, self._specs, initial_values(self._specs, job.seed))
        self._variables = MirroredState(self.strategy, state)
        self._rules = tf1_rules.Tf1Rules(job.workload.optimizer)
        self._worker_step = WorkerStep(job, options, self._variables, self._rules)
        self._observed: Any = [self._worker_function(replica, observed=True) for replica in range(job.replicas)]
        self._unobserved: Any = [self._worker_function(replica, observed=False) for replica in range(job.replicas)]
        self._started = started
        self._servers = len(resolver.cluster_spec().as_dict()["ps"])
        self._step = 0
        self.staleness: collections.Counter[int] = collections.Counter()

    def variables(self) -> tuple[VariableSpec, ...]:
        return self._specs

    def describe(self) -> dict[str, str]:
        return {
            "program": "tf.distribute.ParameterServerStrategy",
            "devices": f"{counted(self._job.replicas, 'worker')}, {counted(self._servers, 'parameter server')}",
            "input": "from the coordinator",
            "variables on": "parameter servers",
            "reduction": "none: every update by itself",
            "update rules": self._rules.describe(),
            "autodiff": self._options.describe_autodiff(),
            "Grappler": self._options.describe_grappler(),
        }

    def load(self, state: State) -> None:
        self._variables.load(state)
        self._variables.step.assign(state.step * self._job.replicas)
        self._step = state.step

    def state(self) -> State:
        state = self._variables.read()[0]
        state.step = self._step
        return state

    def step(self) -> StepRecord:
        shards = self._source.shards(self._step)
        scheduled = self._schedule(self._observed, self._step, shards)
        self._coordinator.join()
        results = [value.fetch() for value in scheduled]
        self.staleness.update(count_staleness(late for _, late in results))
        self._step += 1
        return step_record(self._step - 1, join_updates([seen for seen, _ in results]), shards, self.state())

    def run(self, steps: int) -> list[np.ndarray]:
        scheduled = []
        for step in range(self._step, self._step + steps):
            scheduled += self._schedule(self._unobserved, step, self._source.shards(step))
        self._coordinator.join()
        results = [value.fetch() for value in scheduled]
        self.staleness.update(count_staleness(late for _, late in results))
        self._step += steps
        return [np.asarray(loss) for loss, _ in results[-self._job.replicas :]]

    def staleness_line(self) -> str:
        """`staleness` as one line of text."""
        return describe_staleness(self.staleness)

    def close(self) -> None:
        """Releases what the servers hold for this process if all of them still run, and ends them."""
        if self._started is None or not self._started.all_running:
            local_servers.keep_to_the_end((self._coordinator, self._observed, self._unobserved))
        self._coordinator = self._observed = self._unobserved = None
        if self._started is not None:
            self._started.close()

    def __exit__(self, *raised: object) -> None:
        if any(part is not None for part in raised):  # frames have functions, and servers may end before it is handled
            local_servers.keep_to_the_end((self._coordinator, self._observed, self._unobserved, *raised))
        self.close()

    def _worker_function(self, replica: int, observed: bool) -> Any:
        """Makes the `tf.function` of replica `replica`: (step, batch) to (`StepTensors` or the loss, staleness)."""

        def work(step: tf.Tensor, batch: Tensors) -> tuple[Any, tf.Tensor]:
            seen, late = self._worker_step(step, replica, batch)
            return (seen if observed else seen.loss), late

        return tf.function(work, autograph=False)

    def _schedule(self, functions: Sequence[Callable[..., Any]], step: int, shards: Sequence[Arrays]) -> list[Any]:
        """Schedules every replica's part of a step on the coordinator; returns the `RemoteValue`s of the results."""
        return [
            self._coordinator.schedule(function, (tf.constant(step, tf.int64), dict(shard)))
            for function, shard in zip(functions, shards)
        ]


def join_updates(seen: Sequence[StepTensors]) -> StepTensors:
    """Joins the values of a step's updates, one a replica, into one with lists over replicas.

    With one replica there is one update, and its gradients are named as those of a synchronous step.
    """
    combined = seen[0].combined if len(seen) == 1 else staleness.label_updates([one.combined for one in seen])
    return StepTensors(
        loss=[one.loss for one in seen],
        gradients=[one.gradients for one in seen],
        combined=combined,
        learning_rate=seen[0].learning_rate,
        proposals=[one.proposals for one in seen],
        masks=[one.masks for one in seen],
    )


def shorten_log_record(record: logging.LogRecord) -> bool:
    """Log filter that keeps a message's first line: about a lost worker, TensorFlow's has the batch and a traceback.

    Errors of ops, and lost connections to parameter servers that do not come back at once, are left out: they are
    raised as well.
    """
    record.msg, record.args = record.getMessage().partition("\n")[0][:160], ()
    raised = (
        "error when processing closure",
        "Start cancelling closures",
        "failed with CancelledError",
        "Remote function on worker",
    )
    return not any(text in record.msg for text in raised)


def start_parameter_server_program(
    job: Job, source: Source, options: ModernOptions, parameter_servers: int
) -> ParameterServerProgram:
    """Starts servers on this machine and makes the program that uses and closes them.

    Args:
      job: the `Job`; its replicas are the workers.
      source: of its batches.
      options: see `ModernOptions`.
      parameter_servers: how many.

    Returns:
      The program.
    """
    started = local_servers.LocalServers(job.replicas, parameter_servers)
    try:
        resolver = local_servers.coordinator_resolver(started.cluster)
        return ParameterServerProgram(job, source, options, resolver, started)
    except BaseException:
        started.close()
        raise
