#!/usr/bin/env python3
"""A port of the workload `regression` in Keras 3, for `python -m parity.benchmark --others=examples/keras_port.py`.

It answers lines on a pipe (docs/speed.md): hello, run N, quit. Nothing else may be printed to standard output. The size
of the network and the batch are those of the job that it is compared with, which stand in the environment.
"""

import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf

SIZES = {"small": (60, (48, 32, 32)), "seed": (600, (512, 128, 128))}  # features, hidden units
FEATURES, HIDDEN = SIZES[os.environ.get("TOWER_PARITY_SIZE", "small")]
BATCH = int(os.environ.get("TOWER_PARITY_GLOBAL_BATCH", "64"))
INPUT = os.environ.get("TOWER_PARITY_INPUT", "resident")


class ScalarBias(keras.layers.Layer):
    """One number that is added to all outputs, as the workload's layers have it."""

    def build(self, shape):
        self.bias = self.add_weight(shape=(), initializer="zeros")

    def call(self, x):
        return x + self.bias


def make_model():
    layers = []
    for units in HIDDEN:
        layers += [keras.layers.Dense(units, use_bias=False), ScalarBias(), keras.layers.ReLU()]
    model = keras.Sequential([keras.Input((FEATURES,)), *layers, keras.layers.Dense(1, use_bias=False), ScalarBias()])
    model.compile(keras.optimizers.Adam(1e-3), lambda target, output: tf.reduce_mean(tf.square(output - target)))
    return model


def make_batches():
    """An endless dataset: one batch that stays (resident), or a new one for each step (streamed)."""
    rng = np.random.RandomState(0)

    def batches():
        while True:
            x = rng.random_sample((BATCH, FEATURES)).astype(np.float32)
            yield x, 2 * x + 1

    if INPUT == "resident":
        return tf.data.Dataset.from_tensors(next(batches())).cache().repeat()
    spec = tf.TensorSpec((BATCH, FEATURES), tf.float32)
    return tf.data.Dataset.from_generator(batches, output_signature=(spec, spec)).prefetch(tf.data.AUTOTUNE)


def main():
    model, batches = make_model(), make_batches()
    for line in sys.stdin:
        command, *arguments = line.split()
        if command == "hello":
            about = {"name": "Keras fit", "examples_per_step": BATCH, "input": INPUT, "workload": "regression"}
            print(json.dumps(about), flush=True)
        elif command == "run":
            model.fit(batches, steps_per_epoch=int(arguments[0]), epochs=1, verbose=0)  # ends with the loss read
            print("done", flush=True)
        elif command == "quit":
            return


if __name__ == "__main__":
    main()
