"""The tower graph: the loop over devices that everybody wrote, from a `Job` and `LegacyOptions`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Dict, List, NamedTuple

import tensorflow as tf

from legacy.options import LegacyOptions
from legacy.towers import optimizers, stale_updates
from legacy.towers.frame import TowerFrame
from workloads import schedules
from workloads.numerics import combining, statistics
from workloads.scope import tower_loss

if TYPE_CHECKING:
    from workloads.job import Job
    from workloads.workload import Workload

v1 = tf.compat.v1

#: Tensors and variables by the name of their weight, statistic, input or dropout.
Tensors = Dict[str, tf.Tensor]
Variables = Dict[str, tf.Variable]
#: {number of a train op: op}.
Ops = Dict[int, tf.Operation]


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


class Towers(NamedTuple):
    """The towers of a graph, in order, and the variables that they share."""

    frames: List[TowerFrame]
    losses: List[tf.Tensor]
    gradients: List[Tensors]
    variables: Variables


class Update(NamedTuple):
    """The ops that apply the towers' gradients.

    Attributes:
      combined: {weight: gradient that the optimizer gets}; empty where each tower applies its own.
      ops: see `TowerGraph.train_ops`; they do not update statistics and moving averages.
      waiting: {slot: variable} of stale gradients.
    """

    combined: Tensors
    ops: Ops
    waiting: Variables


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
    towers = _build_towers(job, options, step, optimizer, batches, devices, layer_devices)
    weights = {name: towers.variables[name] for name in towers.gradients[0]}
    proposals: List[Tensors] = [dict(frame.updates) for frame in towers.frames]
    with tf.device(shared):
        beside = {name: weight.device for name, weight in weights.items()} if layer_devices else None
        update = _build_update(job, options, optimizer, towers.gradients, weights, global_step, beside)
        ops = dict(update.ops)
        for number, changes in statistic_changes(workload, options, towers.frames, list(ops)).items():
            # Towers that wait for each other all read a statistic before it changes: each proposes its next value.
            readers = towers.frames if options.updates == "sync" else []
            for name, value in changes.items():
                with tf.control_dependencies([frame.read(name) for frame in readers]):
                    assign = v1.assign(towers.variables[name], value)
                ops[number] = tf.group(ops[number], assign)
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
    )


def _build_towers(
    job: Job,
    options: LegacyOptions,
    step: tf.Tensor,
    optimizer: tf.compat.v1.train.Optimizer,
    batches: Sequence[Tensors],
    devices: Sequence[str],
    layer_devices: Sequence[str],
) -> Towers:
    """The loop over towers: each one's loss and gradients on its device, from variables that all share."""
    towers = Towers([], [], [], {})
    for tower, device in enumerate(devices):
        with tf.device("/cpu:0" if options.pin_towers_to_cpu else device), v1.name_scope(f"tower_{tower}"):
            on_cpu = options.variables == "cpu" and not layer_devices
            frame = TowerFrame(job, step, tower, towers.variables, "/cpu:0" if on_cpu else None, layer_devices)
            loss = tower_loss(job.workload, frame, batches[tower])
            towers.frames.append(frame)
            towers.losses.append(loss)
            towers.gradients.append(tower_gradients(optimizer, loss, frame, towers.variables))
    return towers


def tower_gradients(
    optimizer: tf.compat.v1.train.Optimizer, loss: tf.Tensor, frame: TowerFrame, variables: Variables
) -> Tensors:
    """Differentiates one tower's loss.

    Args:
      optimizer: computes the gradients, as in the old programs.
      loss: scalar.
      frame: the tower's, with its reads of the variables.
      variables: {name: weight or statistic}.

    Returns:
      {weight name: dense gradient}.
    """
    weights = {name: variable for name, variable in variables.items() if variable.trainable}
    # Where layers are on several devices, a layer's gradients are computed on its device.
    computed = optimizer.compute_gradients(
        loss, list(weights.values()), colocate_gradients_with_ops=bool(frame.devices)
    )
    reads = [frame.read(name) for name in weights]
    return dict(zip(weights, combining.dense([gradient for gradient, _ in computed], reads)))


def _build_update(
    job: Job,
    options: LegacyOptions,
    optimizer: tf.compat.v1.train.Optimizer,
    gradients: Sequence[Tensors],
    weights: Variables,
    global_step: tf.Variable,
    beside: dict[str, str] | None,
) -> Update:
    """The update in the way that the job and the options ask for; `beside` says where each weight's is combined."""
    if options.updates == "async":
        return Update({}, apply_separately(job.workload, optimizer, gradients, weights, global_step), {})
    if job.staleness is not None:
        stale = stale_updates.build_stale_updates(job, optimizer, gradients, weights, global_step)
        return Update(stale.applied, stale.ops, stale.slots)
    workload = job.workload
    combined = combining.combine_gradients(gradients, workload.combine, workload.clip, options.average, beside)
    op = optimizer.apply_gradients([(combined[name], weights[name]) for name in weights], global_step)
    return Update(combined, {0: op}, {})


def apply_separately(
    workload: Workload,
    optimizer: tf.compat.v1.train.Optimizer,
    gradients: Sequence[Tensors],
    weights: Variables,
    global_step: tf.Variable,
) -> Ops:
    """Builds the updates of towers that do not wait for each other.

    Args:
      workload: says how gradients are clipped.
      optimizer: applies them.
      gradients: list over towers of {weight: gradient}.
      weights: {name: variable}.
      global_step: counts updates.

    Returns:
      {tower: op that applies this tower's gradients, clipped, and counts an update}.
    """
    ops = {}
    for tower, own in enumerate(gradients):
        clipped = combining.clip_alone(list(own.values()), workload.clip)
        assigned = [(gradient, weights[name]) for name, gradient in zip(own, clipped)]
        ops[tower] = optimizer.apply_gradients(assigned, global_step)
    return ops


def statistic_changes(
    workload: Workload, options: LegacyOptions, frames: Sequence[TowerFrame], numbers: Iterable[int]
) -> dict[int, Tensors]:
    """Determines which train op assigns what to the statistics.

    Args:
      workload: says whose proposals are taken.
      options: see `LegacyOptions`.
      frames: the towers', with what they propose.
      numbers: of the train ops.

    Returns:
      {number of a train op: {statistic: next value}}: all ops the same, or of towers that do not wait each its own.
    """
    updates: List[Tensors] = [frame.updates for frame in frames]
    if options.updates == "sync":
        changes = [frame.changes for frame in frames]
        values = {name: frames[0].read(name) for name in updates[0]}
        taken = statistics.next_statistics(workload.statistics, updates, changes, values, options.average)
        return dict.fromkeys(numbers, taken)
    policy, count = workload.statistics, len(frames)
    return {tower: updates[tower] for tower in numbers if statistics.takes_proposals_of(policy, tower, count)}


def average_weights(
    workload: Workload, ops: Ops, global_step: tf.Variable, weights: Variables
) -> tuple[Ops, Variables]:
    """Adds the moving average of the weights *after* the updates.

    Many old programs group the two without an order, and then average the old weight in some steps; a
    comparison needs one order, and this is the one their authors meant.

    Args:
      workload: with the `MovingAverage`, or none.
      ops: {number: op} that update the weights.
      global_step: read by an average that warms up.
      weights: {name: variable}.

    Returns:
      ({number: train op}, {weight name: variable of its moving average}).
    """
    rule = workload.moving_average
    if rule is None:
        return ops, {}
    average = v1.train.ExponentialMovingAverage(rule.decay, global_step if rule.warm_up else None)
    train_ops = {}
    for number, update in ops.items():
        with tf.control_dependencies([update]):
            train_ops[number] = average.apply(list(weights.values()))
    return train_ops, {name: average.average(variable) for name, variable in weights.items()}
