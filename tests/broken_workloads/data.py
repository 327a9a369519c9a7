"""Broken data functions of a lift with the inputs x, float32 [None, 6, 6, 2], and y, int32 [None]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from workloads.support.errors import InputError, UserError


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
