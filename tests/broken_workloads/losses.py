"""Broken losses that are found before anything runs."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from tests.broken_workloads.case import Case, fault, workload_with
from workloads import initializers
from workloads.support.errors import InputError, UserError

AT_BUILD: list[Case] = []


@fault(AT_BUILD, "loss", UserError, "net.loss raised KeyError: 'pixles'; expected: a scalar .*labels int32")
def wrong_key(self, scope, batch):
    return batch["pixles"]  # here


@fault(AT_BUILD, "loss", InputError, r"net.loss at .*: got shape \(4,\), must be a scalar")
def vector_loss(self, scope, batch):
    return tf.reduce_sum(batch["x"] * scope.get("w", (4,)), 1)


@fault(AT_BUILD, "loss", InputError, r"got shape \(4,\), must be a scalar")
def vector_loss_with_decay(self, scope, batch):
    weight = scope.get("w", (4,))
    scope.decay(0.5, weight)
    return tf.reduce_sum(batch["x"] * weight, 1)


@fault(AT_BUILD, "loss", InputError, "got NoneType, must be a scalar float32 tensor")
def no_loss(self, scope, batch):
    self.head(scope, batch["x"], batch)


@fault(AT_BUILD, "loss", InputError, "got tuple, must be a scalar float32 tensor")
def loss_and_accuracy(self, scope, batch):
    return self.head(scope, batch["x"], batch), 0.5


@fault(AT_BUILD, "loss", InputError, "got float64, must be float32")
def loss_of_another_dtype(self, scope, batch):
    return tf.cast(self.head(scope, batch["x"], batch), tf.float64)


@fault(AT_BUILD, "loss", UserError, "raised AssertionError")
def failed_assertion(self, scope, batch):
    assert batch["x"].shape == (3, 3)  # here


@fault(AT_BUILD, "loss", UserError, "ValueError: Dimensions must be equal, but are 4 and 5")
def shapes_that_do_not_fit(self, scope, batch):
    return tf.reduce_mean(tf.matmul(batch["x"], scope.get("w", (5, 3))))  # here


@fault(AT_BUILD, "loss", UserError, "RecursionError")
def endless_recursion(self, scope, batch):
    return endless_recursion(self, scope, batch)  # here


@fault(AT_BUILD, "loss", UserError, "raised SystemExit: 0")
def exit_inside(self, scope, batch):
    raise SystemExit(0)  # here


class Unshowable(Exception):
    """An exception whose message raises another one."""

    def __str__(self):
        raise RuntimeError


@fault(AT_BUILD, "loss", UserError, "raised Unshowable: .its message cannot be shown")
def unshowable_exception(self, scope, batch):
    raise Unshowable  # here


@fault(AT_BUILD, "loss", UserError, "ValueError: first line second line")
def exception_of_two_lines_from_another(self, scope, batch):
    try:
        return batch["pixles"]
    except KeyError as error:
        raise ValueError("first line\nsecond line") from error  # here


@fault(AT_BUILD, "loss", UserError, "Dimensions must be equal")
def fault_in_a_rewritten_function(self, scope, batch):
    @tf.function
    def rewritten(x):
        for _ in tf.range(2):
            x = tf.matmul(x, tf.zeros((3, 3)))  # here
        return x

    return self.head(scope, rewritten(batch["x"]), batch)


@fault(AT_BUILD, "loss", InputError, "'kernel': got a variable of its own, .* from scope.get")
def keras_layer(self, scope, batch):
    import keras

    return self.head(scope, keras.layers.Dense(4)(batch["x"]), batch)  # here


@fault(AT_BUILD, "loss", InputError, "'Variable': got a variable of its own, .* from scope.get")
def own_variable(self, scope, batch):
    return self.head(scope, tf.matmul(batch["x"], tf.Variable(tf.zeros((4, 4)))), batch)  # here


@fault(AT_BUILD, "loss", InputError, "'w': got a variable of its own, .* from scope.get")
def variable_of_1x(self, scope, batch):
    return self.head(scope, tf.matmul(batch["x"], tf.compat.v1.get_variable("w", (4, 4))), batch)  # here


@fault(AT_BUILD, "loss", InputError, r"scope.get: 'w' was asked for as \(4, 4\) and as \(4, 3\)")
def name_with_two_shapes(self, scope, batch):
    scope.get("w", (4, 4))
    return tf.reduce_mean(tf.matmul(batch["x"], scope.get("w", (4, 3))))  # here


@fault(AT_BUILD, "loss", InputError, "'w': got 4, must be a sequence of integers")
def shape_that_is_a_number(self, scope, batch):
    return tf.reduce_mean(batch["x"] * scope.get("w", 4))  # here


@fault(AT_BUILD, "loss", InputError, r"'w': got \(None, 4\), must be a sequence of integers")
def shape_that_is_open(self, scope, batch):
    return tf.reduce_mean(batch["x"] * scope.get("w", (None, 4)))  # here


@fault(AT_BUILD, "loss", InputError, "initializer of 'w': got 0.5, must be an Initializer")
def initializer_that_is_a_number(self, scope, batch):
    return tf.reduce_mean(batch["x"] * scope.get("w", (4,), 0.5))  # here


def wrong_initial_value(shape, rng):
    return np.zeros(3)


def initial_value_of_another_shape(self, scope, batch):
    return tf.reduce_mean(batch["x"] * scope.get("w", (4,), wrong_initial_value))


AT_BUILD.append(
    Case(
        "initial_value_of_another_shape",
        workload_with(loss=initial_value_of_another_shape),
        wrong_initial_value,
        InputError,
        r"initializer of 'w'.* got float64 \(3,\), must be an array of numbers \(4,\)",
    )
)


@fault(AT_BUILD, "loss", InputError, r"scope.update: 's' got float32 \(4,\), must be a float32 tensor \(\)")
def statistic_of_another_shape(self, scope, batch):
    scope.get("s", (), initializers.Constant(0.0), trainable=False)
    scope.update("s", tf.reduce_mean(batch["x"], 0))
    return self.head(scope, batch["x"], batch)


@fault(AT_BUILD, "loss", InputError, "asked for no trainable variable")
def nothing_to_train(self, scope, batch):
    return tf.reduce_mean(batch["x"])
