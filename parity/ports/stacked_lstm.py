"""`stacked_lstm` as a Keras model with `model.fit`: RMSprop, `global_clipnorm`, Dropout, all as Keras 3 has them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import keras
import numpy as np

from workloads.models.stacked_lstm import SMALL
from workloads.workload import Clip

if TYPE_CHECKING:
    import tensorflow as tf

    from parity.ports.legacy_batches import LegacyBatches
    from workloads.program import Arrays, State

#: The upper limit of the combined gradient's norm.
LIMIT = 0.03

WORKLOAD = dataclasses.replace(SMALL, clip=Clip(LIMIT, where="combined"))
EXPECTED = ("RMSPROP_INIT_ONES", "CLIP_BEFORE_REDUCE", "SAME_DROPOUT_MASK")


def train(path: str, strategy: tf.distribute.Strategy, data: LegacyBatches, initial: State, steps: int) -> None:
    """Trains from legacy's first weights and records the steps.

    Args:
      path: the recording to write (.npz).
      strategy: the strategy to train under.
      data: legacy's batches.
      initial: legacy's state before the first step.
      steps: number of steps.
    """
    from modern.keras_recorder import KerasRecorder

    keras.utils.set_random_seed(0)  # the same dropout in every recording
    with strategy.scope():
        inputs = x = keras.Input((WORKLOAD.time, WORKLOAD.features))
        for layer in range(WORKLOAD.depth):
            x = keras.layers.LSTM(WORKLOAD.units, return_sequences=True)(x)
            x = keras.layers.Dropout(WORKLOAD.dropout_rate, name=f"lstm{layer}_dropout")(x)
        model = keras.Model(inputs, keras.layers.Dense(WORKLOAD.classes)(x[:, -1]))
        optimizer = keras.optimizers.RMSprop(1e-3, rho=0.9, momentum=0.9, global_clipnorm=LIMIT)
        model.compile(optimizer, loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    for variable, value in zip(model.trainable_variables, to_keras(initial.weights)):
        variable.assign(value)
    recorder = KerasRecorder(path, model, optimizer, to_legacy, strategy, data.global_batch)
    model.fit(
        data.dataset(lambda batch: (batch["x"], batch["labels"])),
        steps_per_epoch=steps,
        verbose=0,
        shuffle=False,
        callbacks=[recorder.callback(data.shards)],
    )


def to_keras(weights: Arrays) -> list[np.ndarray]:
    """Returns Keras's arrays, in the order of its variables, of {legacy's name: array}.

    A layer of legacy has one kernel [features + units, 4 units] with the gates i, j, f, o; a layer of Keras has a
    kernel, a recurrent kernel and a bias with the gates i, f, c, o.
    """
    arrays = []
    for layer in range(WORKLOAD.depth):
        kernel, bias = weights[f"lstm{layer}/kernel"], weights[f"lstm{layer}/bias"]
        kernel, bias = _swap_middle_gates(kernel), _swap_middle_gates(bias)
        bias[WORKLOAD.units : 2 * WORKLOAD.units] += 1.0  # forget_bias, which 1.x adds at run time
        arrays += [kernel[: -WORKLOAD.units], kernel[-WORKLOAD.units :], bias]
    return arrays + [weights["logits/weights"], weights["logits/biases"]]


def to_legacy(arrays: Sequence[np.ndarray], kind: str) -> Arrays:
    """Returns {legacy's name: array} of Keras's arrays: the inverse of `to_keras`.

    Gradients and slots lie as their weights do, but have no forget bias to subtract; `kind` is "weights" or another.
    """
    named = {}
    for layer in range(WORKLOAD.depth):
        kernel, recurrent, bias = arrays[3 * layer : 3 * layer + 3]
        bias = np.array(bias)
        if kind == "weights":
            bias[WORKLOAD.units : 2 * WORKLOAD.units] -= 1.0
        named[f"lstm{layer}/kernel"] = _swap_middle_gates(np.concatenate([kernel, recurrent]))
        named[f"lstm{layer}/bias"] = _swap_middle_gates(bias)
    named["logits/weights"], named["logits/biases"] = arrays[-2:]
    return named


def _swap_middle_gates(array: np.ndarray) -> np.ndarray:
    """Returns the gates i, j, f, o along the last dimension as i, f, c, o, or back; Keras calls legacy's gate j c."""
    i, first, second, o = np.split(np.array(array), 4, axis=-1)
    return np.concatenate([i, second, first, o], axis=-1)
