"""A workload with batch normalization, and the user's Keras models of it."""

from __future__ import annotations

import dataclasses
from typing import Any

import keras
import tensorflow as tf

from tests.cases import setup
from workloads import layers, optimizers, schedules
from workloads.workload import InputSpec, Workload


@dataclasses.dataclass(frozen=True)
class Net(Workload):
    """Two dense layers with batch normalization between them, and a decaying learning rate."""

    name: str = "net"
    global_batch: int = 8
    optimizer: optimizers.Optimizer = optimizers.Adam()
    learning_rate: Any = schedules.ExponentialDecay(0.125, 3, 0.5, staircase=True)

    def inputs(self):
        return {"x": InputSpec((6,)), "labels": InputSpec((), "int", 3)}

    def logits(self, scope, x):
        x = tf.matmul(x, scope.child("first").get("weights", (6, 5)))
        return layers.dense(scope.child("last"), tf.nn.relu(layers.batch_norm(scope.child("norm"), x)), 3)

    def loss(self, scope, batch):
        return layers.cross_entropy(self.logits(scope, batch["x"]), batch["labels"])

    def predictions(self, scope, batch):
        return {"logits": self.logits(scope, batch["x"])}


def keras_model(optimizer, epsilon=1e-5, units=5):
    """The user's own model; the order of batch norm's variables is Keras's."""
    model = keras.Sequential(
        [
            keras.Input((6,)),
            keras.layers.Dense(units, use_bias=False, name="hidden"),
            keras.layers.BatchNormalization(epsilon=epsilon, name="normalization"),
            keras.layers.ReLU(),
            keras.layers.Dense(3, name="output"),
        ],
        name="net",
    )
    model.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def adam():
    return keras_model(keras.optimizers.Adam(epsilon=1e-8))


def momentum():
    return keras_model(keras.optimizers.SGD(0.1, momentum=0.9))


def other_epsilon():
    return keras_model(keras.optimizers.Adam(epsilon=1e-8), epsilon=1e-2)


def keras_default():
    return keras_model(keras.optimizers.Adam())


def not_compiled():
    return keras.Sequential([keras.Input((6,)), keras.layers.Dense(3)])


def more_units():
    return keras_model(keras.optimizers.Adam(epsilon=1e-8), units=4)


def wrong_schedule():
    return keras_model(keras.optimizers.Adam(keras.optimizers.schedules.ExponentialDecay(0.5, 3, 0.5), epsilon=1e-8))


def model_of_a_lift():
    """The model of the recorded program b_adam_clip."""
    layers = [keras.layers.Dense(10, activation="tanh", name="hidden"), keras.layers.Dense(1, name="out")]
    model = keras.Sequential([keras.Input((6,)), *layers], name="lift")
    model.compile(keras.optimizers.Adam(epsilon=1e-8), "mse")
    return model


def trained(optimizer, steps=3):
    """Returns (setup, program, its state) after some steps on two replicas."""
    made = setup(Net(optimizer=optimizer), 2, 8)
    program = made.modern_program()
    program.run(steps)
    return made, program, program.state()
