"""The step of a port that is written as functions, in the terms of the lift that it is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from modern.lifted.function import Tensors
from modern.lifted.step import LiftedStepTensors
from modern.mirrored.state.variables import MirroredState
from modern.steps.replica import run_train_op
from workloads.frame import COMMON
from workloads.job import Job
from workloads.lifted.pieces.noise import noise_key
from workloads.lifted.plan import Phase, indices_label, is_indices_label
from workloads.lifted.reduction_factors import sums_parts_of_mean
from workloads.lifted.replication import tower_run_by
from workloads.lifted.tensors.lift_taps import NO_TAPS
from workloads.lifted.workload import as_lifted


class PortStep:
    """One train op of a port as a function of one replica's batch, as a `LiftedStep` is one of the old graph.

    Args:
      job: of a lift with a port.
      phase: number of the train op.
      variables: the replicas' variables, by the old names.

    Attributes:
      taps: none.
      traces: how often a replica's step was traced.
    """

    taps = NO_TAPS

    def __init__(self, job: Job, phase: int, variables: MirroredState) -> None:
        lift = as_lifted(job.workload)
        assert lift.port is not None
        self._job, self._number, self._variables = job, phase, variables
        self._plan, self._port = lift.plan, lift.port
        self._dealt = lift.dealt(lift.port.inputs, lift.port.workload.inputs())
        self._copied = [name for name in lift.copied(lift.port.inputs) if name not in self._dealt]
        self.traces = 0

    def tower(self, replica: int) -> int:
        """Returns the number of the tower whose part a replica plays."""
        plan = self._plan
        return tower_run_by(plan, replica, self._job.replicas)

    def describe_reduction(self, all_reduce: str) -> str:
        """Returns the way in which the replicas' results are combined, where the strategy uses `all_reduce`."""
        return f"written, with {all_reduce}"

    def __call__(self, batch: Tensors) -> LiftedStepTensors:
        """Runs the step on {input name of the lift: tensor} of this replica."""
        self.traces += 1
        context = tf.distribute.get_replica_context()
        replica = int(tf.get_static_value(context.replica_id_in_sync_group))
        local = self._variables.local(replica)
        specs = self._port.workload.inputs()
        given = {name: tf.cast(batch[old], specs[name].dtype("float32")) for name, old in self._port.inputs.items()}
        rows = self._job.per_replica_batch
        given.update((name, given[name][replica * rows : (replica + 1) * rows]) for name in self._dealt)
        given.update((name, tf.stack([given[name]] * self._job.per_replica_batch)) for name in self._copied)

        def noise_number(replica: int, noise: str) -> int:
            stream = self._port.noise.get(noise, noise)  # an update names the streams of the lift
            return noise_key(self._job.seed, None if replica == COMMON else replica, stream)

        found = run_train_op(self._port.workload, self._number, local, given, noise_number)
        phase = self._plan.phases[self._number]
        labels = {label for tower in phase.gradients for label in tower}
        loss, gradients = found.loss, _labelled(found.gradients, labels)
        factor = self._replicas_per_tower(phase) if found.asked_for_replicas else 1.0
        if factor != 1.0:
            loss = loss if phase.shared_loss else loss * factor
            gradients = {n: g if is_indices_label(n) else g * tf.cast(factor, g.dtype) for n, g in gradients.items()}
        return LiftedStepTensors([loss] if phase.losses else [], gradients, {}, [], {}, {})

    def _replicas_per_tower(self, phase: Phase) -> float:
        """Returns what turns a part of the replicas' mean into one of the towers'; 1 where losses are no such parts."""
        towers = self._plan.towers
        return self._job.replicas / towers if sums_parts_of_mean(phase, towers) else 1.0


def _labelled(gradients: Mapping[str, Any], labels: set[str]) -> Tensors:
    """Returns {label of the lift: tensor}: of a sparse gradient its rows and their indices, if both have labels."""
    found: Tensors = {}
    for weight, gradient in gradients.items():
        if indices_label(weight) in labels and isinstance(gradient, tf.IndexedSlices):
            found[weight], found[indices_label(weight)] = gradient.values, gradient.indices
        else:
            found[weight] = tf.convert_to_tensor(gradient)
    found.update((label, tf.zeros([])) for label in labels if label not in found)
    return found
