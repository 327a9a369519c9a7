"""The tower graph of a `Job`: a loop over devices, as in TensorFlow 1.x's multi-GPU programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, List, NamedTuple

import tensorflow as tf

from legacy.options import LegacyOptions
from legacy.towers import optimizers
from legacy.towers.frame import TowerFrame
from legacy.towers.update import (
    Ops,
    Tensors,
    Towers,
    Variables,
    assign_statistics,
    average_weights,
    build_update,
)
from workloads import schedules, taps
from workloads.numerics import combining, gradient_sums
from workloads.tower_loss import tower_loss

if TYPE_CHECKING:
    from workloads.job import Job

v1 = tf.compat.v1


class TowerGraph(NamedTuple):
    """Tensors, variables and ops of the graph that a session runs.

    Attributes:
      train_ops: one op, 0. With asynchronous updates in a fixed order (see `stale_updates`) also those of the first
        steps, which apply fewer gradients; where towers do not wait for each other, one op a tower.
      losses: each tower's scalar loss.
      gradients: each tower's {weight: gradient}.
      combined: {weight: gradient that the optimizer gets}.
      learning_rate: float32 scalar.
      global_step: counts steps, or updates where towers do not wait for each other.
      variables: {name: weight or statistic}.
      slots: {"weight/slot" or accumulator: variable}.
      averages: {weight: variable of its moving average}.
      proposals: each tower's {statistic: proposed value}.
      masks: each tower's {dropout: mask}.
      taps: each tower's {name: tensor inside the model}; empty where taps are off.
      tap_gradients: each tower's {name: gradient of its loss to that tensor}.
    """

    train_ops: Ops
    losses: List[tf.Tensor]
    gradients: List[Tensors]
    combined: Tensors
    learning_rate: tf.Tensor
    global_step: tf.Variable
    variables: Variables
    slots: Variables
    averages: Variables
    proposals: List[Tensors]
    masks: List[Tensors]
    taps: Sequence[Tensors] = ()
    tap_gradients: Sequence[Tensors] = ()


def build_tower_graph(
    job: Job,
    options: LegacyOptions,
    batches: Sequence[Tensors],
    devices: Sequence[str],
    layer_devices: Sequence[str] = (),
) -> TowerGraph:
    """Builds the towers and the update in the current graph.

    Args:
      job: the `Job`.
      options: see `LegacyOptions`.
      batches: list over towers of {input name: tensor}.
      devices: list over towers of device names.
      layer_devices: devices that the layers of every tower are divided among, or none; see `Scope.pipeline_stage`.

    Returns:
      See `TowerGraph`.
    """
    workload = job.workload
    shared = "/cpu:0" if options.variables == "cpu" else devices[0]
    with tf.device(shared):
        global_step = v1.get_variable(
            "global_step", [], tf.int64, v1.zeros_initializer(), trainable=False, use_resource=True
        )
        step = tf.identity(global_step)
        rate = schedules.rate_tensor(workload.learning_rate, step, job.global_batch)
        optimizer = optimizers.tf1_optimizer(workload.optimizer, rate)
    towers = _TowerBuilder(job, options, step, optimizer, layer_devices).build(batches, devices)
    weights = towers.weights()
    proposals: List[Tensors] = [dict(frame.updates) for frame in towers.frames]
    with tf.device(shared):
        beside = {name: weight.device for name, weight in weights.items()} if layer_devices else None
        update = build_update(job, options, optimizer, towers, global_step, beside)
        ops = assign_statistics(workload, options, towers, update.ops)
        train_ops, averages = average_weights(workload, ops, global_step, weights)
    return TowerGraph(
        train_ops=train_ops,
        losses=towers.losses,
        gradients=towers.gradients,
        combined=update.combined,
        learning_rate=rate,
        global_step=global_step,
        variables=towers.variables,
        slots={**optimizers.slot_variables(optimizer, workload.optimizer, weights), **update.waiting},
        averages=averages,
        proposals=proposals,
        masks=[dict(frame.masks) for frame in towers.frames],
        taps=[frame.taps for frame in towers.frames] if options.taps else (),
        tap_gradients=[frame.tap_gradients for frame in towers.frames] if options.taps else (),
    )


class _TowerBuilder(NamedTuple):
    """The loop over towers: each one's loss and gradients on its device, from variables that all share.

    Attributes:
      job: the `Job`.
      options: see `LegacyOptions`.
      step: `global_step` as a tensor.
      optimizer: computes the gradients.
      layer_devices: see `build_tower_graph`.
    """

    job: Job
    options: LegacyOptions
    step: tf.Tensor
    optimizer: tf.compat.v1.train.Optimizer
    layer_devices: Sequence[str]

    def build(self, batches: Sequence[Tensors], devices: Sequence[str]) -> Towers:
        """Builds one tower for each batch, on the device beside it."""
        towers = Towers([], [], [], {})
        for batch, device in zip(batches, devices):
            self._add_tower(towers, batch, device)
        return towers

    def _add_tower(self, towers: Towers, batch: Tensors, device: str) -> None:
        options, number = self.options, len(towers.frames)
        forward = "/cpu:0" if options.pin_towers_to_cpu else device
        shared = "/cpu:0" if options.variables == "cpu" and not self.layer_devices else None
        with tf.device(forward if options.pin_backward else device), v1.name_scope(f"tower_{number}"):
            with tf.device(forward):
                frame = TowerFrame(self.job, self.step, number, towers.variables, shared, self.layer_devices)
                frame.tap_patterns = options.taps
                loss = tower_loss(self.job.workload, frame, batch)
            towers.frames.append(frame)
            towers.losses.append(loss)
            with gradient_sums.added_in_order(options.exact):
                towers.gradients.append(tower_gradients(self.optimizer, loss, frame, towers.variables))


def tower_gradients(
    optimizer: tf.compat.v1.train.Optimizer, loss: tf.Tensor, frame: TowerFrame, variables: Variables
) -> Tensors:
    """Differentiates one tower's loss, to the weights and to the frame's taps.

    Args:
      optimizer: computes the gradients, as in the old programs.
      loss: scalar.
      frame: the tower's, with its reads of the variables.
      variables: {name: weight or statistic}.

    Returns:
      {weight name: dense gradient}.
    """
    weights = {name: variable for name, variable in variables.items() if variable.trainable}
    tap_names, tap_tensors = taps.differentiable(frame.taps)
    # Where layers are on several devices, a layer's gradients are computed on its device.
    computed = optimizer.compute_gradients(
        loss, [*weights.values(), *tap_tensors], colocate_gradients_with_ops=bool(frame.devices)
    )
    found = [gradient for gradient, _ in computed]
    frame.tap_gradients = taps.filled_gradients(frame.taps, dict(zip(tap_names, found[len(weights) :])))
    reads = [frame.read(name) for name in weights]
    return dict(zip(weights, combining.dense(found[: len(weights)], reads)))
