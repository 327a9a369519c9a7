"""The tower graph: the loop over devices that everybody wrote, from a `Job` and `LegacyOptions`."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple

import tensorflow as tf

from legacy.towers import optimizers, stale_updates
from legacy.towers.frame import TowerFrame
from workloads.numerics import combining
from workloads.scope import tower_loss

v1 = tf.compat.v1


class TowerGraph(NamedTuple):
    """Ends of the graph that a session runs. Lists are over towers.

    `train_ops` has one op, 0. Of asynchronous updates in a fixed order (see `stale`) the first steps have fewer;
    where towers do not wait for each other, there is one op a tower.
    """

    train_ops: Dict[int, Any]
    losses: List[Any]
    gradients: List[Dict[str, Any]]
    combined: Dict[str, Any]
    learning_rate: Any
    global_step: Any
    variables: Dict[str, Any]
    slots: Dict[str, Any]
    averages: Dict[str, Any]
    proposals: List[Dict[str, Any]]
    masks: List[Dict[str, Any]]


def build(job, options, batches, devices, stages=()):
    """Builds the towers and the update in the current graph.

    Args:
      batches: list over towers of {input name: tensor}.
      devices: list over towers of device names.
      stages: devices that the layers of every tower are divided among, or none; see `Scope.stage`.

    Returns:
      `TowerGraph`.
    """
    workload = job.workload
    shared = "/cpu:0" if options.variables == "cpu" else devices[0]
    with tf.device(shared):
        global_step = v1.get_variable(
            "global_step", [], tf.int64, v1.zeros_initializer(), trainable=False, use_resource=True
        )
        step = tf.identity(global_step)
        rate = workload.learning_rate(step, job.global_batch)
        optimizer = optimizers.make(workload.optimizer, rate)
    frames, losses, gradients, variables = [], [], [], {}
    for tower, device in enumerate(devices):
        with tf.device("/cpu:0" if options.pin_towers_to_cpu else device), v1.name_scope(f"tower_{tower}"):
            on_cpu = options.variables == "cpu" and not stages
            frame = TowerFrame(job, step, tower, variables, "/cpu:0" if on_cpu else None, stages)
            loss = tower_loss(workload, frame, batches[tower])
            frames.append(frame)
            losses.append(loss)
            gradients.append(tower_gradients(optimizer, loss, frame, variables))
    names = list(gradients[0])
    weights = {name: variables[name] for name in names}
    with tf.device(shared):
        waiting = {}
        if options.updates == "async":
            combined = {}
            apply = each_its_own(workload, optimizer, gradients, weights, global_step)
        elif job.staleness is None:
            beside = {name: weight.device for name, weight in weights.items()} if stages else None
            combined = combining.combine_gradients(workload, gradients, options.average, beside)
            apply = {0: optimizer.apply_gradients([(combined[name], weights[name]) for name in names], global_step)}
        else:
            combined, apply, waiting = stale_updates.build(job, optimizer, gradients, weights, global_step)
        changes = statistic_changes(workload, options, [frame.updates for frame in frames], list(apply))
        for number, proposed in changes.items():
            assigns = [v1.assign(variables[name], value) for name, value in proposed.items()]
            apply[number] = tf.group(apply[number], *assigns)
        train_ops, averages = average_weights(workload, apply, global_step, weights)
    return TowerGraph(
        train_ops,
        losses,
        gradients,
        combined,
        rate,
        global_step,
        variables,
        {**optimizers.slot_variables(optimizer, workload.optimizer, weights), **waiting},
        averages,
        [dict(frame.updates) for frame in frames],
        [dict(frame.masks) for frame in frames],
    )


def tower_gradients(optimizer, loss, frame, variables):
    """{weight name: dense gradient of this tower's loss}."""
    weights = {name: variable for name, variable in variables.items() if variable.trainable}
    # A stage's gradients are computed where the stage is.
    pairs = optimizer.compute_gradients(loss, list(weights.values()), colocate_gradients_with_ops=bool(frame.devices))
    reads = [frame.read(name) for name in weights]
    return dict(zip(weights, combining.dense([gradient for gradient, _ in pairs], reads)))


def each_its_own(workload, optimizer, gradients, weights, global_step):
    """{tower: op that applies this tower's gradients, clipped, and counts an update}."""
    ops = {}
    for tower, own in enumerate(gradients):
        clipped = combining.clip_alone(list(own.values()), workload.clip)
        pairs = [(gradient, weights[name]) for name, gradient in zip(own, clipped)]
        ops[tower] = optimizer.apply_gradients(pairs, global_step)
    return ops


def statistic_changes(workload, options, updates, numbers):
    """{number of a train op: {statistic: its next value}}: all the same, or of free towers each its own."""
    if options.updates == "sync":
        return dict.fromkeys(numbers, combine_statistics(workload, options, updates))
    return {tower: updates[tower] for tower in numbers if tower == 0 or workload.statistics == "mean_of_towers"}


def combine_statistics(workload, options, updates):
    """{statistic: its next value}, from each tower's proposals."""
    if workload.statistics == "first_tower":
        return updates[0]
    return {name: combining.combine([tower[name] for tower in updates], "mean", options.average) for name in updates[0]}


def average_weights(workload, apply, global_step, weights):
    """Train ops with the moving average *after* the updates, and {weight name: its shadow variable}.

    Many old programs group the two without an order, and then average the old weight in some steps; a
    comparison needs one order, and this is the one their authors meant.
    """
    rule = workload.moving_average
    if rule is None:
        return apply, {}
    average = v1.train.ExponentialMovingAverage(rule.decay, global_step if rule.warm_up else None)
    train_ops = {}
    for missing, update in apply.items():
        with tf.control_dependencies([update]):
            train_ops[missing] = average.apply(list(weights.values()))
    return train_ops, {name: average.average(variable) for name, variable in weights.items()}
