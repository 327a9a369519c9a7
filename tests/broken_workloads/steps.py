"""Broken learning rates and losses that are found while steps are taken."""

from __future__ import annotations

import tensorflow as tf

from tests.broken_workloads.case import Case, fault, workload_with
from workloads import layers
from workloads.support.errors import InputError, UserError

AT_RUN: list[Case] = []


@fault(AT_RUN, "learning_rate", UserError, "learning_rate raised ZeroDivisionError: .*; expected: a float32 scalar")
def rate_that_raises(step, global_batch):
    return 1 / 0  # here


@fault(AT_RUN, "learning_rate", InputError, "learning_rate at .*: got 0.1, must be a float32 scalar tensor")
def rate_that_is_a_number(step, global_batch):
    return 0.1


@fault(AT_RUN, "learning_rate", InputError, r"got float64 \(\), must be a float32 scalar tensor")
def rate_of_another_dtype(step, global_batch):
    return tf.constant(0.1, tf.float64)


@fault(AT_RUN, "loss", UserError, r"InvalidArgumentError: .* = [567] is not in \[0, 2\)")
def index_beyond_the_table(self, scope, batch):
    x = tf.gather(scope.get("table", (2, 4)), batch["labels"] + 5)  # here
    return self.head(scope, x, batch)


@fault(AT_RUN, "loss", UserError, "Received a label value of 2 which is outside the valid range")
def fewer_logits_than_classes(self, scope, batch):
    return layers.cross_entropy(layers.dense(scope.child("out"), batch["x"], 2), batch["labels"])  # here


@fault(AT_RUN, "loss", UserError, "assertion failed")
def assertion_op(self, scope, batch):
    with tf.control_dependencies([tf.debugging.assert_less(batch["x"], 0.0)]):  # here
        return self.head(scope, tf.identity(batch["x"]), batch)


def complain(values):
    raise ValueError("my own complaint")  # here


def numpy_function(self, scope, batch):
    x = tf.numpy_function(complain, [batch["x"]], tf.float32)
    x.set_shape(batch["x"].shape)
    return self.head(scope, x, batch)


AT_RUN.append(Case("numpy_function", workload_with(loss=numpy_function), complain, UserError, "my own complaint"))


def without_gradient(self, scope, batch):
    @tf.custom_gradient
    def identity(x):
        def gradient(upstream):
            raise ValueError("no gradient")  # here

        return x, gradient

    return self.head(scope, identity(scope.get("w", (4, 4))), batch)


AT_RUN.append(
    Case("without_gradient", workload_with(loss=without_gradient), without_gradient, UserError, "no gradient")
)
