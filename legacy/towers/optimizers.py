"""The workload's optimizer as the `tf.compat.v1.train` class that its description names."""

from __future__ import annotations

import tensorflow as tf

from workloads.optimizers import Optimizer

v1 = tf.compat.v1


def tf1_optimizer(optimizer: Optimizer, learning_rate: tf.Tensor) -> tf.compat.v1.train.Optimizer:
    """Returns the 1.x optimizer at the scalar tensor `learning_rate`."""
    described = optimizer.tf1_class()
    return getattr(v1.train, described.name)(learning_rate, **described.arguments)


def slot_variables(
    tf1: tf.compat.v1.train.Optimizer, optimizer: Optimizer, variables: dict[str, tf.Variable]
) -> dict[str, tf.Variable]:
    """Finds the slots and accumulators that a 1.x optimizer made in `apply_gradients`.

    Args:
      tf1: the 1.x optimizer.
      optimizer: its description.
      variables: {weight name: variable}.

    Returns:
      {"weight/slot": variable} and {accumulator: variable}, in the names of `workloads.optimizers`.
    """
    slots = {
        f"{name}/{slot}": tf1.get_slot(variable, slot)
        for name, variable in variables.items()
        for slot in optimizer.slots()
    }
    if optimizer.accumulators():
        slots.update(zip(optimizer.accumulators(), getattr(tf1, optimizer.tf1_class().accumulators)()))
    return slots
