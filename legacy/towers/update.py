"""The update of the tower graph: combined gradients, then statistics, then moving averages of the weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Dict, List, NamedTuple

import tensorflow as tf

from legacy.options import LegacyOptions
from legacy.towers import stale_updates
from workloads.numerics import combining, statistics

if TYPE_CHECKING:
    from legacy.towers.frame import TowerFrame
    from workloads.job import Job
    from workloads.workload import Workload

v1 = tf.compat.v1

#: Tensors and variables by the name of their weight, statistic, input or dropout.
Tensors = Dict[str, tf.Tensor]
Variables = Dict[str, tf.Variable]
#: {number of a train op: op}.
Ops = Dict[int, tf.Operation]


class Towers(NamedTuple):
    """The towers of a graph, before any update.

    Attributes:
      frames: each tower's, which have read the variables and hold what the models propose.
      losses: each tower's scalar loss.
      gradients: each tower's {weight: gradient}.
      variables: {name: weight or statistic}, which the towers share.
    """

    frames: List[TowerFrame]
    losses: List[tf.Tensor]
    gradients: List[Tensors]
    variables: Variables

    def weights(self) -> Variables:
        """Returns {name: variable} of the weights, in the order of the gradients."""
        return {name: self.variables[name] for name in self.gradients[0]}


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


def build_update(
    job: Job,
    options: LegacyOptions,
    optimizer: tf.compat.v1.train.Optimizer,
    towers: Towers,
    global_step: tf.Variable,
    beside: dict[str, str] | None,
) -> Update:
    """Builds the update of weights and slots in the way that the job and the options ask for.

    Towers that wait for each other have read all weights before any of them changes. Old programs left that to the
    data: where a gradient does not depend on a weight's value, as in a model that is linear in it, nothing in the graph
    kept a tower from reading the new value.

    Args:
      job: the `Job`.
      options: see `LegacyOptions`.
      optimizer: applies the gradients.
      towers: with their gradients.
      global_step: counts updates.
      beside: {weight: device on which its gradients are combined}; None for the current device.

    Returns:
      the `Update`.
    """
    gradients, weights = towers.gradients, towers.weights()
    if options.updates == "async":
        return Update({}, apply_separately(job.workload, optimizer, towers, weights, global_step), {})
    if job.staleness is not None:
        stale = stale_updates.build_stale_updates(job, optimizer, gradients, weights, global_step)
        return Update(stale.applied, stale.ops, stale.slots)
    workload = job.workload
    combined = combining.combine_gradients(gradients, workload.combine, workload.clip, options.average, beside)
    all_read = tf.group(*(frame.read(name) for frame in towers.frames for name in weights))
    with tf.control_dependencies([all_read]):
        op = optimizer.apply_gradients([(combined[name], weights[name]) for name in weights], global_step)
    return Update(combined, {0: op}, {})


def apply_separately(
    workload: Workload,
    optimizer: tf.compat.v1.train.Optimizer,
    towers: Towers,
    weights: Variables,
    global_step: tf.Variable,
) -> Ops:
    """Builds the updates of towers that do not wait for each other.

    A tower updates no weight before it has read all of them: its gradients are those of one set of weights.

    Args:
      workload: says how gradients are clipped.
      optimizer: applies them.
      towers: with their gradients.
      weights: {name: variable}.
      global_step: counts updates.

    Returns:
      {tower: op that applies this tower's gradients, clipped, and counts an update}.
    """
    ops = {}
    for tower, (frame, own) in enumerate(zip(towers.frames, towers.gradients)):
        clipped = combining.clip_alone(list(own.values()), workload.clip)
        assigned = [(gradient, weights[name]) for name, gradient in zip(own, clipped)]
        # A group: Grappler may leave out a dependency on a read from which the gradient seems to be made, too.
        with tf.control_dependencies([tf.group(*(frame.read(name) for name in weights))]):
            ops[tower] = optimizer.apply_gradients(assigned, global_step)
    return ops


def assign_statistics(workload: Workload, options: LegacyOptions, towers: Towers, ops: Ops) -> Ops:
    """Adds the assignments of the statistics to the train ops.

    Args:
      workload: says whose proposals are taken.
      options: see `LegacyOptions`.
      towers: with what they propose.
      ops: {number: op} that update the weights.

    Returns:
      {number: op} that update weights and statistics.
    """
    ops = dict(ops)
    for number, changes in statistic_changes(workload, options, towers.frames, list(ops)).items():
        # Towers that wait for each other all read a statistic before it changes: each proposes its next value.
        readers = towers.frames if options.updates == "sync" else []
        for name, value in changes.items():
            with tf.control_dependencies([frame.read(name) for frame in readers]):
                assign = v1.assign(towers.variables[name], value)
            ops[number] = tf.group(ops[number], assign)
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
