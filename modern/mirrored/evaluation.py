"""`MirroredEvaluation`: the metrics of a workload under `MirroredStrategy`, as a port evaluates them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from modern.collectives.strategy import mirrored_strategy
from modern.mirrored.step.step_tensors import replica_arrays
from modern.options import ModernOptions
from workloads.data.batches import Batches
from workloads.job import Job
from workloads.program import Arrays
from workloads.scope import Tensors
from workloads.training.evaluation import Evaluation, EvaluationFrame, metrics_of_part


class MirroredEvaluation(Evaluation):
    """Evaluates states of a job on replicas, each with its own copy of the variables and its part of every batch.

    Args:
      job: the `Job`, of a workload that defines `metrics`.
      batches: of the examples, in their order and of the job's global batch.
      devices: of the replicas, as "CPU:0".
      options: of the port.
    """

    def __init__(self, job: Job, batches: Batches, devices: Sequence[str], options: ModernOptions) -> None:
        super().__init__(job, batches, devices, options.exact)
        self._strategy = mirrored_strategy(self._devices, options)
        self._variables: dict[str, tf.Variable] = {}
        self._function = tf.function(self._on_replicas, autograph=False)

    def _load(self, values: Arrays) -> None:
        for name, value in values.items():
            if name in self._variables:
                self._variables[name].assign(value)
                continue
            with self._strategy.scope():
                self._variables[name] = tf.Variable(value, trainable=False)

    def _run(self, shards: Sequence[Arrays]) -> list[Arrays]:
        def of_replica(context: tf.distribute.ReplicaContext) -> Arrays:
            return shards[context.replica_id_in_sync_group]

        batch = self._strategy.experimental_distribute_values_from_function(of_replica)
        return replica_arrays(self._strategy, self._function(batch), len(shards))

    def _on_replicas(self, batch: Any) -> Tensors:
        found: Tensors = self._strategy.run(self._on_replica, (batch,))
        return found

    def _on_replica(self, batch: Tensors) -> Tensors:
        context = tf.distribute.get_replica_context()
        replica = int(tf.get_static_value(context.replica_id_in_sync_group))
        local = self._strategy.experimental_local_results
        copies = {name: local(variable)[replica].read_value() for name, variable in self._variables.items()}
        return metrics_of_part(self._job, EvaluationFrame(self._job, replica, copies), batch)
