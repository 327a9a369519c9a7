"""The stages of a step after the gradients, computed from recorded inputs by the functions that both sides share."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from modern.mirrored.state.moving_average import update_moving_averages
from modern.mirrored.state.tf1_rules import Tf1Rules
from modern.mirrored.state.variables import LocalState
from workloads.numerics import combining
from workloads.optimizers import Optimizer
from workloads.program import Arrays, State
from workloads.workload import Clip, MovingAverage


class UpdatedState(NamedTuple):
    """Weights and slots after an update."""

    weights: Arrays
    slots: Arrays


def combined_gradients(gradients: Sequence[Arrays], how: str, clip: Clip | None, dtype: str) -> Arrays:
    """Combines and clips the replicas' gradients.

    Args:
      gradients: each replica's {weight: gradient}.
      how: "mean" or "sum".
      clip: the workload's, or None.
      dtype: in which to compute.

    Returns:
      {weight: gradient that the optimizer gets}.
    """
    with tf.device("CPU:0"):
        towers = [{name: tf.constant(value, dtype) for name, value in tower.items()} for tower in gradients]
        return _arrays(combining.combine_gradients(towers, how, clip, "stack"))


def updated_state(
    optimizer: Optimizer, before: State, updates: Sequence[Arrays], rate: float, dtype: str
) -> UpdatedState:
    """Updates weights and slots by 1.x's kernels.

    Args:
      optimizer: with the constants to use.
      before: the state before the step.
      updates: the combined gradients of each update, in order.
      rate: the step's learning rate.
      dtype: in which to compute.

    Returns:
      weights and slots after the updates.
    """
    with tf.device("CPU:0"):
        # A recording need not hold the accumulators.
        powers = {n: np.float32(c) ** np.float32(before.step + 1) for n, c in optimizer.accumulators().items()}
        whole = dataclasses.replace(before, slots={**powers, **before.slots})
        local = _variables(whole, dtype, updates[0] if updates else {})
        rules = Tf1Rules(optimizer)
        for update in updates:
            gradients = {name: tf.constant(value, dtype) for name, value in update.items()}
            rules.apply(local, gradients, tf.constant(rate, tf.float32))
        return UpdatedState(_arrays(local.weights), _arrays(local.slots))


def moved_averages(rule: MovingAverage, before: State, after: State, dtype: str) -> Arrays:
    """Moves the weights' averages one step on.

    Args:
      rule: with the constants to use.
      before: the state before the step, with the averages.
      after: the state after it, with the weights and the number of the next step.
      dtype: in which to compute.

    Returns:
      {weight: its average after the step}.
    """
    with tf.device("CPU:0"):
        step = tf.Variable(after.step, dtype=tf.int64)
        weights, averages = _as_variables(after.weights, dtype), _as_variables(before.averages, dtype)
        local = LocalState(0, step, weights, {}, {}, averages)
        update_moving_averages(rule, local)
        return _arrays(averages)


def _variables(state: State, dtype: str, names: Mapping[str, np.ndarray]) -> LocalState:
    """The variables that the kernels change, of the weights that have a gradient."""
    slots = {key: value for key, value in state.slots.items() if "/" not in key or key.rsplit("/", 1)[0] in names}
    weights = {name: state.weights[name] for name in names}
    arrays = {key: tf.Variable(np.asarray(value, dtype if "/" in key else np.float32)) for key, value in slots.items()}
    return LocalState(0, tf.Variable(state.step, dtype=tf.int64), _as_variables(weights, dtype), arrays, {}, {})


def _as_variables(arrays: Arrays, dtype: str) -> dict[str, tf.Variable]:
    return {name: tf.Variable(np.asarray(value, dtype)) for name, value in arrays.items()}


def _arrays(tensors: Mapping[str, tf.Tensor]) -> Arrays:
    return {name: np.asarray(tensor) for name, tensor in tensors.items()}
