"""Workloads and data functions that are broken, each in its own way, and the error that each must be reported as.

In a function, the line that is to be named ends with `# here`; without such a line it is the function's first.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from workloads import initializers, layers, optimizers, schedules
from workloads.support.errors import InputError, UserError
from workloads.workload import InputSpec, Workload


@dataclasses.dataclass(frozen=True)
class Healthy(Workload):
    """A small net without a fault."""

    name: str = "net"
    global_batch: int = 8
    optimizer: optimizers.Optimizer = optimizers.Momentum()
    learning_rate: Any = schedules.Fixed(0.125)

    def inputs(self):
        return {"x": InputSpec((4,)), "labels": InputSpec((), "int", classes=3)}

    def loss(self, scope, batch):
        return self.head(scope, batch["x"], batch)

    def head(self, scope, x, batch):
        """The loss of features `x`."""
        return layers.cross_entropy(layers.dense(scope.child("out"), x, 3), batch["labels"])


class Case(NamedTuple):
    """A broken workload.

    Attributes:
      name: of the fault.
      workload: has it.
      function: the user's function whose line is to be named.
      error: `UserError`, or `InputError` where a check finds it.
      says: part of the message.
    """

    name: str
    workload: Workload
    function: Any
    error: type[Exception]
    says: str


def line_of(function: Any) -> int:
    """Returns the line of a function that a message about it is to name."""
    lines, first = inspect.getsourcelines(function)
    return first + next((i for i, line in enumerate(lines) if line.rstrip().endswith("# here")), 0)


def workload_with(**members: Any) -> Workload:
    """Returns `Healthy` with other methods, or other values of its fields."""
    names = {field.name for field in dataclasses.fields(Healthy)}
    methods = {name: value for name, value in members.items() if name not in names}
    kind = type("Broken", (Healthy,), methods)
    return kind(**{name: value for name, value in members.items() if name in names})


#: Faults that are found before anything runs, and those that are found while steps are taken.
AT_BUILD: list[Case] = []
AT_RUN: list[Case] = []


def fault(cases: list[Case], member: str, error: type[Exception], says: str) -> Callable[[Any], Any]:
    """Makes a decorator that adds the case of a workload whose `member` is the function."""

    def add(function: Any) -> Any:
        cases.append(Case(function.__name__, workload_with(**{member: function}), function, error, says))
        return function

    return add


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


@fault(AT_BUILD, "inputs", UserError, r"net.inputs\(\) raised NameError")
def inputs_that_raise(self):
    return {"x": undefined_name}  # noqa: F821  # here


@fault(AT_BUILD, "inputs", InputError, r"net.inputs\(\) at .*: got \['x'\], must be {input name: InputSpec}")
def inputs_in_a_list(self):
    return ["x"]


@fault(AT_BUILD, "inputs", InputError, r"'x': got \(4,\), must be an InputSpec")
def inputs_without_specs(self):
    return {"x": (4,)}


@fault(AT_BUILD, "inputs", InputError, "'labels': classes: got 0, must be at least 1")
def no_classes(self):
    return {"x": InputSpec((4,)), "labels": InputSpec((), "int")}


@fault(AT_BUILD, "inputs", InputError, "'x': kind: got 'string', allowed: float, int")
def unknown_kind(self):
    return {"x": InputSpec((4,), "string")}


@fault(AT_BUILD, "inputs", InputError, r"shape=\(None, 4\).*, shape must be a tuple of integers")
def open_shape(self):
    return {"x": InputSpec((None, 4))}


@fault(AT_BUILD, "inputs", InputError, r"shape=nan.*, shape must be a tuple of integers")
def shape_that_is_nan(self):
    return {"x": InputSpec(float("nan"))}


@fault(AT_RUN, "examples", UserError, "net.examples raised RuntimeError: disk unplugged; expected: 8 examples")
def examples_that_raise(self, rng, count):
    raise RuntimeError("disk\nunplugged")  # here


@fault(AT_RUN, "examples", UserError, "net.examples raised StopIteration")
def examples_that_end(self, rng, count):
    return next(iter(()))  # here


@fault(AT_RUN, "examples", InputError, "net.examples at .*: got tuple, must be a dict of arrays: labels, x")
def tuple_of_examples(self, rng, count):
    return np.zeros((count, 4)), np.zeros(count, int)


@fault(AT_RUN, "examples", InputError, "got x, must be exactly: labels, x")
def missing_input(self, rng, count):
    return {"x": np.zeros((count, 4))}


@fault(AT_RUN, "examples", InputError, "got id, labels, x, must be exactly: labels, x")
def additional_input(self, rng, count):
    return dict(Workload.examples(self, rng, count), id=np.arange(count))


@fault(AT_RUN, "examples", InputError, r"'x': got shape \(7, 4\), must be \(8, 4\)")
def too_few_examples(self, rng, count):
    return Workload.examples(self, rng, count - 1)


@fault(AT_RUN, "examples", InputError, r"'x': got shape \(8, 2, 2\), must be \(8, 4\)")
def examples_of_another_shape(self, rng, count):
    return dict(Workload.examples(self, rng, count), x=np.zeros((count, 2, 2)))


@fault(AT_RUN, "examples", InputError, r"'x': got <U3 \(8, 4\), must be an array of real numbers")
def texts(self, rng, count):
    return dict(Workload.examples(self, rng, count), x=np.full((count, 4), "0.5"))


@fault(AT_RUN, "examples", InputError, r"'x': got object \(8, 4\), must be an array of real numbers")
def objects(self, rng, count):
    return dict(Workload.examples(self, rng, count), x=np.full((count, 4), None))


@fault(AT_RUN, "examples", InputError, r"'x': got ValueError: .*, must be an array \(8, 4\)")
def ragged_lists(self, rng, count):
    return dict(Workload.examples(self, rng, count), x=[[0.5] * (i % 3) for i in range(count)])


@fault(AT_RUN, "examples", InputError, "'labels': got float64, must be whole numbers")
def labels_that_are_nan(self, rng, count):
    return dict(Workload.examples(self, rng, count), labels=np.full(count, np.nan))


@fault(AT_RUN, "examples", InputError, "'labels': got numbers from 1 to 3, must be from 0 to 2")
def labels_counted_from_one(self, rng, count):
    return dict(Workload.examples(self, rng, count), labels=1 + np.arange(count) % 3)


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

#: Values of fields that are refused, and what the message says.
FIELDS: list[tuple[str, Any, str]] = [
    ("name", None, "name: got None, a workload's name must be a text"),
    ("global_batch", "64", "net.global_batch: got '64', must be an integer"),
    ("global_batch", 0, "net.global_batch: got 0, must be an integer, at least 1"),
    ("optimizer", "adam", "net.optimizer: got 'adam', expected one of workloads.optimizers"),
    ("optimizer", optimizers.Adam, "net.optimizer: got <class .*, expected one of workloads.optimizers"),
    ("optimizer", optimizers.Adam(beta1="0.9"), "net.optimizer.beta1: got '0.9', must be a finite number"),
    ("learning_rate", 0.1, "net.learning_rate: got 0.1, expected a schedule"),
    ("learning_rate", schedules.Fixed, "net.learning_rate: got <class .*, expected a schedule"),
    ("learning_rate", schedules.Fixed(float("nan")), "net.learning_rate.rate: got nan, must be a finite number"),
    ("clip", 5.0, "net.clip: got 5.0, expected a workloads.workload.Clip or None"),
    ("moving_average", 0.999, "net.moving_average: got 0.999, expected a workloads.workload.MovingAverage or None"),
    ("weight_decay", "small", "net.weight_decay: got 'small', must be a number"),
]


class NoDataclass(Healthy):
    """Fields with other values, which a class that is no dataclass does not have."""

    name = "wide"
    global_batch = 32


# Data functions of a lift with the inputs x, float32 [None, 6, 6, 2], and y, int32 [None].


def healthy_data(global_batch: int) -> tf.data.Dataset:
    arrays = {"x": np.zeros((10, 6, 6, 2), np.float32), "y": np.arange(10, dtype=np.int32) % 3}
    return tf.data.Dataset.from_tensor_slices(arrays).batch(global_batch, drop_remainder=True)


#: (function, kind of error, part of the message).
DATA: list[tuple[Callable[..., Any], type[Exception], str]] = []


def data_fault(error: type[Exception], says: str) -> Callable[[Any], Any]:
    """Makes a decorator that adds a broken data function to `DATA`."""

    def add(function: Any) -> Any:
        DATA.append((function, error, says))
        return function

    return add


@data_fault(UserError, "raised OSError: no such bucket; expected: a tf.data.Dataset")
def data_that_raise(global_batch):
    raise OSError("no such bucket")  # here


@data_fault(UserError, "takes 0 positional arguments")
def data_without_arguments():
    return healthy_data(4)


@data_fault(InputError, "got None, must be a tf.data.Dataset or an iterable")
def no_data(global_batch):
    healthy_data(global_batch)


@data_fault(InputError, r"got \(TensorSpec.*, must be a tf.data.Dataset of {input name: tensor}")
def tuples(global_batch):
    return healthy_data(global_batch).map(lambda batch: (batch["x"], batch["y"]))


@data_fault(InputError, r"got 'labels, x', it must have 'y': int32 \[None\]")
def other_keys(global_batch):
    return healthy_data(global_batch).map(lambda batch: {"x": batch["x"], "labels": batch["y"]})


@data_fault(InputError, "got 'no example', there must be at least one")
def empty_data(global_batch):
    return healthy_data(global_batch).take(0)


@data_fault(InputError, r"got 'object \(4, 6, 6, 2\)', 'x' must be float32")
def texts_as_data(global_batch):
    return healthy_data(global_batch).map(lambda batch: dict(batch, x=tf.strings.as_string(batch["x"])))


@data_fault(InputError, r"got 'float32 \(4, 5, 6, 2\)', 'x' must be float32 \[None, 6, 6, 2\]")
def data_of_another_shape(global_batch):
    return healthy_data(global_batch).map(lambda batch: dict(batch, x=batch["x"][:, :5]))


@data_fault(InputError, "got '3 examples', fewer than --global_batch=4")
def fewer_examples_than_a_batch(global_batch):
    return healthy_data(1).unbatch().take(3)


@data_fault(UserError, "RuntimeError: cable cut")
def generator_that_raises(global_batch):
    def batches():
        for batch in healthy_data(global_batch).as_numpy_iterator():
            yield batch
        raise RuntimeError("cable cut")  # here

    return tf.data.Dataset.from_generator(batches, output_signature=healthy_data(global_batch).element_spec)


@data_fault(UserError, "Cannot reshape|ValueError: Dimension")
def fault_in_a_mapped_function(global_batch):
    def change(batch):
        if tf.reduce_sum(batch["y"]) > 1:
            batch["x"] = tf.ensure_shape(tf.reshape(batch["x"], [-1]), [3])  # here
        return batch

    return healthy_data(global_batch).map(change)
