"""System 5 as a Keras model with `model.fit`: RMSprop, `global_clipnorm`, Dropout, all as Keras 3 has them."""

from __future__ import annotations

import dataclasses

import keras
import numpy as np

from workloads.models.stacked_lstm import SMALL
from workloads.workload import Clip

WORKLOAD = dataclasses.replace(SMALL, clip=Clip(0.03, where="combined"))
EXPECTED = ("RMSPROP_INIT_ONES", "CLIP_BEFORE_REDUCE", "SAME_DROPOUT_MASK")


def train(path, strategy, data, initial, steps):
    """Trains and records `steps` steps from legacy's first weights; see `ports.run`."""
    from modern.keras_recorder import KerasRecorder

    with strategy.scope():
        inputs = x = keras.Input((WORKLOAD.time, WORKLOAD.features))
        for layer in range(WORKLOAD.depth):
            x = keras.layers.LSTM(WORKLOAD.units, return_sequences=True)(x)
            x = keras.layers.Dropout(WORKLOAD.dropout_rate, name=f"lstm{layer}_dropout")(x)
        model = keras.Model(inputs, keras.layers.Dense(WORKLOAD.classes)(x[:, -1]))
        optimizer = keras.optimizers.RMSprop(1e-3, rho=0.9, momentum=0.9, global_clipnorm=WORKLOAD.clip.limit)
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


def to_keras(weights):
    """Legacy's kernels [features + units, 4 units], gates i, j, f, o, as Keras's three arrays, gates i, f, c, o."""
    made = []
    for layer in range(WORKLOAD.depth):
        kernel, bias = weights[f"lstm{layer}/kernel"], weights[f"lstm{layer}/bias"]
        kernel, bias = _gates(kernel), _gates(bias)
        bias[WORKLOAD.units : 2 * WORKLOAD.units] += 1.0  # forget_bias, which 1.x adds at run time
        made += [kernel[: -WORKLOAD.units], kernel[-WORKLOAD.units :], bias]
    return made + [weights["logits/weights"], weights["logits/biases"]]


def to_legacy(arrays, kind):
    """The other way round; gradients and slots lie as their weights do."""
    named = {}
    for layer in range(WORKLOAD.depth):
        kernel, recurrent, bias = arrays[3 * layer : 3 * layer + 3]
        bias = np.array(bias)
        if kind == "weights":
            bias[WORKLOAD.units : 2 * WORKLOAD.units] -= 1.0
        named[f"lstm{layer}/kernel"] = _gates(np.concatenate([kernel, recurrent]), back=True)
        named[f"lstm{layer}/bias"] = _gates(bias, back=True)
    named["logits/weights"], named["logits/biases"] = arrays[-2:]
    return named


def _gates(array, back=False):
    """i, j, f, o to i, f, c, o along the last dimension, or back."""
    i, first, second, o = np.split(np.array(array), 4, axis=-1)
    return np.concatenate([i, second, first, o], axis=-1)
