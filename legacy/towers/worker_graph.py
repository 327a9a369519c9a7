"""Graph of one worker of a cluster: its tower, and the update that it takes part in or makes by itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, List, NamedTuple, Tuple

import tensorflow as tf

from legacy.towers import graph, optimizers
from legacy.towers.frame import TowerFrame
from legacy.towers.update import Ops, Tensors, Variables, average_weights
from workloads import schedules
from workloads.numerics import combining
from workloads.tower_loss import tower_loss

if TYPE_CHECKING:
    from workloads.job import Job
    from workloads.workload import Clip

v1 = tf.compat.v1


class WorkerGraph(NamedTuple):
    """The graph of one worker.

    Attributes:
      tower: its tensors, variables and train op.
      batch: {input name: placeholder}.
      hooks: of the worker's session.
    """

    tower: graph.TowerGraph
    batch: Tensors
    hooks: List[Any]


def build_worker_graph(job: Job, index: int, sync: bool) -> WorkerGraph:
    """Builds a worker's tower and its update in the current graph.

    Args:
      job: the `Job`; its replicas are the workers.
      index: the worker's number; 0 is the chief, which updates statistics and averages.
      sync: whether updates wait for all workers.

    Returns:
      See `WorkerGraph`.
    """
    workload = job.workload
    global_step = v1.train.get_or_create_global_step()
    step = tf.identity(global_step)
    rate = schedules.rate_tensor(workload.learning_rate, step, job.global_batch)
    inner = optimizers.tf1_optimizer(workload.optimizer, rate)
    batch = _batch_placeholders(job)
    frame = TowerFrame(job, step, index, {}, None)
    loss = tower_loss(workload, frame, batch)
    gradients = graph.tower_gradients(inner, loss, frame, frame.variables)
    weights = {name: frame.variables[name] for name in gradients}
    optimizer, hooks = _cluster_optimizer(job, inner, index == 0, sync)
    clipped = combining.clip(list(gradients.values()), workload.clip, "tower")
    apply = optimizer.apply_gradients(list(zip(clipped, weights.values())), global_step)
    statistics = [v1.assign(frame.variables[name], value) for name, value in frame.updates.items()]
    train_ops: Ops = {0: tf.group(apply, *(statistics if index == 0 else []))}
    averages: Variables = {}
    if index == 0 or not sync:  # a synchronous update is averaged once, by the chief, before it gives its next gradient
        train_ops, averages = average_weights(workload, train_ops, global_step, weights)
    tower = graph.TowerGraph(
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
    return WorkerGraph(tower, batch, hooks)


def _batch_placeholders(job: Job) -> Tensors:
    """Returns {input name: placeholder of a worker's part of a batch}."""
    return {
        name: v1.placeholder(spec.dtype(job.dtype), (job.per_replica_batch,) + tuple(spec.shape), name)
        for name, spec in sorted(job.workload.inputs().items())
    }


def _cluster_optimizer(
    job: Job, inner: tf.compat.v1.train.Optimizer, is_chief: bool, sync: bool
) -> Tuple[Any, List[Any]]:
    """Returns the optimizer that updates from one worker's gradients or from all workers', and its session's hooks."""
    clipping = Clipping(inner, job.workload.clip)
    if not sync:
        return clipping, []
    optimizer = v1.train.SyncReplicasOptimizer(clipping, job.replicas, job.replicas)
    # No tokens to begin with: with some, a fast worker could give two gradients to one update.
    return optimizer, [optimizer.make_session_run_hook(is_chief, num_tokens=0)]


class Clipping:
    """An optimizer that clips the gradients it is given to apply, where the workload clips combined gradients.

    Args:
      optimizer: applies the gradients; it answers all other calls.
      clip: the workload's rule, or None.
    """

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
