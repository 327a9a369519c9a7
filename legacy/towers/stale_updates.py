"""Asynchronous updates in a fixed order, in the tower graph: `workloads.numerics.staleness` with 1.x's optimizers."""

from __future__ import annotations

from typing import Any, Dict, NamedTuple

import tensorflow as tf

from workloads.numerics import combining, staleness

v1 = tf.compat.v1


class StaleUpdate(NamedTuple):
    """What one step applies.

    Attributes:
      applied: {"update 0: weight": gradient}.
      ops: {updates without a gradient yet: op that applies the others}; see `pending.empty`.
      slots: {slot name: variable} of the gradients that wait.
    """

    applied: Dict[str, Any]
    ops: Dict[int, Any]
    slots: Dict[str, Any]


def build(job, optimizer, gradients, variables, global_step):
    """The updates of one step of `job`, each after the one before, and after all towers have read the weights.

    Args:
      gradients: list over towers of {weight name: gradient}.
      variables: {weight name: variable}.

    Returns:
      `StaleUpdate`; its ops count the step.
    """
    names, count, late = list(gradients[0]), len(gradients), job.staleness
    slots = {staleness.slot(name): _slot(name, variables[name], late) for name in names} if late else {}
    waiting = {name: tf.identity(slots[staleness.slot(name)]) for name in names} if late else {}
    queue = [{name: waiting[name][place] for name in names} for place in range(late)]
    for tower in gradients:
        queue.append(dict(zip(names, combining.clip_alone([tower[name] for name in names], job.workload.clip))))
    made = [value for update in queue for value in update.values()]
    ops = {
        missing: _in_order(optimizer, queue, range(missing, count), variables, slots, global_step, made)
        for missing in sorted({staleness.empty(job, step) for step in range(late // count + 2)})
    }
    return StaleUpdate(staleness.names(queue[:count]), ops, slots)


def _in_order(optimizer, queue, numbers, variables, slots, global_step, before):
    """One op that applies these of the queue's updates, moves the queue on, and counts the step."""
    count = numbers.stop
    for number in numbers:
        with tf.control_dependencies(before):
            pairs = [(tf.identity(gradient), variables[name]) for name, gradient in queue[number].items()]
            before = [optimizer.apply_gradients(pairs)]
    with tf.control_dependencies(before):
        moved = [
            v1.assign(variable, tf.stack([update[name] for update in queue[count:]]))
            for name, variable in ((name, slots.get(staleness.slot(name))) for name in queue[0])
            if variable is not None
        ]
        return tf.group(v1.assign_add(global_step, 1), *moved)


def _slot(name, variable, late):
    return v1.get_variable(
        staleness.slot(name),
        (late,) + tuple(variable.shape.as_list()),
        variable.dtype.base_dtype,
        v1.zeros_initializer(),
        trainable=False,
        use_resource=True,
    )
