"""Asynchronous updates in a fixed order, in the tower graph: `workloads.numerics.staleness` with 1.x's optimizers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple

import tensorflow as tf

from workloads.numerics import combining, staleness

if TYPE_CHECKING:
    from workloads.job import Job

v1 = tf.compat.v1

#: {weight name: gradient} of one update.
Update = Dict[str, tf.Tensor]


class StaleUpdates(NamedTuple):
    """The updates of one step.

    Attributes:
      applied: {"update 0: weight": gradient}.
      ops: {updates without a gradient yet: op that applies the others}; see `staleness.updates_without_gradient`.
      slots: {slot name: variable} of the gradients that wait.
    """

    applied: Dict[str, tf.Tensor]
    ops: Dict[int, tf.Operation]
    slots: Dict[str, tf.Variable]


def build_stale_updates(
    job: Job,
    optimizer: tf.compat.v1.train.Optimizer,
    gradients: Sequence[Update],
    variables: dict[str, tf.Variable],
    global_step: tf.Variable,
) -> StaleUpdates:
    """Builds the updates of one step, each after the one before, and after all towers have read the weights.

    Args:
      job: the `Job`, with `staleness`.
      optimizer: applies each update.
      gradients: list over towers of {weight name: gradient}.
      variables: {weight name: variable}.
      global_step: counted by the ops, one a step.

    Returns:
      See `StaleUpdates`.
    """
    names, count, late = list(gradients[0]), len(gradients), job.staleness or 0
    slots = {staleness.slot_name(name): _make_slot(name, variables[name], late) for name in names} if late else {}
    waiting = {name: tf.identity(slots[staleness.slot_name(name)]) for name in names} if late else {}
    queue: List[Update] = [{name: waiting[name][place] for name in names} for place in range(late)]
    for tower in gradients:
        queue.append(dict(zip(names, combining.clip_alone([tower[name] for name in names], job.workload.clip))))
    made = [value for update in queue for value in update.values()]
    ops = {}
    for missing in sorted({staleness.updates_without_gradient(late, count, step) for step in range(late // count + 2)}):
        before = _apply_in_order(optimizer, queue[missing:count], variables, made)
        with tf.control_dependencies(before):
            moved = [
                v1.assign(slots[staleness.slot_name(name)], tf.stack([update[name] for update in queue[count:]]))
                for name in (names if late else ())
            ]
            ops[missing] = tf.group(v1.assign_add(global_step, 1), *moved)
    return StaleUpdates(staleness.label_updates(queue[:count]), ops, slots)


def _apply_in_order(
    optimizer: tf.compat.v1.train.Optimizer,
    updates: Sequence[Update],
    variables: dict[str, tf.Variable],
    before: list[Any],
) -> list[Any]:
    """Applies one update after the other, the first after `before`; returns the ops that what follows must wait for."""
    for update in updates:
        with tf.control_dependencies(before):
            assigned = [(tf.identity(gradient), variables[name]) for name, gradient in update.items()]
            before = [optimizer.apply_gradients(assigned)]
    return before


def _make_slot(name: str, variable: tf.Variable, late: int) -> tf.Variable:
    return v1.get_variable(
        staleness.slot_name(name),
        (late,) + tuple(variable.shape.as_list()),
        variable.dtype.base_dtype,
        v1.zeros_initializer(),
        trainable=False,
        use_resource=True,
    )
