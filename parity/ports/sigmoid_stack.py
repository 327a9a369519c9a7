"""`sigmoid_stack` as a Keras model with `model.fit`: Adam with Keras's own epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING

import keras

from workloads.models.sigmoid_stack import SMALL

if TYPE_CHECKING:
    import tensorflow as tf

    from parity.ports.legacy_batches import LegacyBatches
    from workloads.program import State

WORKLOAD = SMALL
EXPECTED = ("ADAM_EPS",)


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

    with strategy.scope():
        inputs = x = keras.Input((WORKLOAD.dim, WORKLOAD.dim))
        for _ in range(WORKLOAD.depth):
            x = keras.layers.Dense(WORKLOAD.dim, activation="sigmoid")(x)
        model = keras.Model(inputs, x)
        optimizer = keras.optimizers.Adam(1e-4, beta_1=0.5, beta_2=0.9)
        model.compile(optimizer, loss=lambda y_true, y_pred: keras.ops.mean(y_pred, axis=-1))
    names = list(initial.weights)
    for variable, name in zip(model.trainable_variables, names):
        variable.assign(initial.weights[name])
    recorder = KerasRecorder(
        path, model, optimizer, lambda arrays, kind: dict(zip(names, arrays)), strategy, data.global_batch
    )
    model.fit(
        data.dataset(lambda batch: (batch["x"], batch["x"])),
        steps_per_epoch=steps,
        verbose=0,
        shuffle=False,
        callbacks=[recorder.callback(data.shards)],
    )
