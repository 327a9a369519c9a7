"""Data that a function makes: pipelines, iterables and arrays give the same batches."""

import numpy as np
import pytest
import tensorflow as tf

from workloads.data.batches import Request, Wanted
from workloads.data.epochs import Epochs, Order
from workloads.data.function import FunctionData
from workloads.support.errors import InputError, UserError

ARRAYS = {"x": np.arange(14, dtype=np.float32).reshape(7, 2), "y": np.arange(7) % 3}
INPUTS = {"x": Wanted(1, "float (2,)"), "y": Wanted(0, "int ()")}


def batches(make, shuffle=False, size=3, inputs=None):
    order = Order(size, 0, shuffle)
    return FunctionData("mine", make).batches(Request(order, inputs or INPUTS, lambda what, arrays, count: arrays))


def dataset(size):
    return tf.data.Dataset.from_tensor_slices(ARRAYS)


def generator(size):
    for i in range(7):
        yield {name: value[i] for name, value in ARRAYS.items()}


WAYS = [
    dataset,
    lambda size: dataset(size).batch(size),
    lambda size: dataset(size).batch(2),
    lambda size: tf.data.Dataset.from_generator(generator, args=[size], output_signature=dataset(size).element_spec),
    generator,
    lambda size: list(generator(size)),
    lambda size: (part for part in [ARRAYS]),
    lambda size: ARRAYS,
]


@pytest.mark.parametrize("make", WAYS)
def test_all_ways_give_the_same_batches(make):
    made = batches(make)
    for step in (0, 1, 2, 5, 1):
        rows = Epochs(7, Order(3, 0, False)).rows(step)
        assert all(np.array_equal(made.batch(step)[name], value[rows]) for name, value in ARRAYS.items())


def test_arrays_and_lists_are_shuffled_and_have_a_known_end():
    rows = Epochs(7, Order(3, 0, True)).rows(1)
    for make in (WAYS[-1], WAYS[5]):
        made = batches(make, shuffle=True)
        assert np.array_equal(made.batch(1)["x"], ARRAYS["x"][rows])
        assert (made.ends(), made.steps(3)) == ((2,), 7)


def test_a_stream_is_read_in_its_order_and_has_no_known_end():
    made = batches(dataset, shuffle=True)
    assert made.batch(0)["y"].tolist() == [0, 1, 2]
    assert (made.ends(), made.steps(1)) == ((), None)


def test_a_graph_that_is_being_built_gets_nothing_of_it():
    made = batches(lambda size: dataset(size).map(lambda each: dict(each, x=each["x"] + 1.0)))
    with tf.Graph().as_default() as graph:
        assert made.batch(1)["x"][0].tolist() == [7.0, 8.0]
    assert not graph.get_operations()


def test_a_dataset_whose_batches_are_all_full_can_be_cut_by_tensorflow():
    assert batches(lambda size: dataset(size).batch(size, drop_remainder=True)).full_dataset() is not None
    for make in (lambda size: dataset(size).batch(size), dataset, generator, WAYS[-1]):
        assert batches(make).full_dataset() is None


def fails(size):
    raise OSError("no such bucket")


def fails_later(size):
    yield from generator(size)
    raise OSError("cable cut")


@pytest.mark.parametrize("make", [fails, fails_later])
def test_an_exception_of_the_function_names_its_line(make):
    with pytest.raises(UserError, match=r"test_function.py:\d+: mine raised OSError"):
        batches(make).batch(2)


@pytest.mark.parametrize(
    "made, says",
    [
        (None, "mine at .*test_function.py:.*: got None, must be a tf.data.Dataset or an iterable"),
        ("text", "got 'str', must be a tf.data.Dataset"),
        (np.zeros(3), "got 'ndarray', must be a tf.data.Dataset"),
        ({"x": ARRAYS["x"]}, "got 'x', it must have 'y': int"),
        ({**ARRAYS, "y": np.zeros(3)}, r"got 'x \[7, 2\], y \[3\]', arrays must have equal lengths"),
        ([{"x": np.zeros(2), "y": 0}, {"x": np.zeros(3), "y": 0}], "got examples that differ, all must have one shape"),
    ],
)
def test_refuses_what_is_no_data(made, says):
    with pytest.raises(InputError, match=says):
        batches(lambda size: made).batch(0)


def test_refuses_a_dataset_of_other_things():
    with pytest.raises(InputError, match="must be a tf.data.Dataset of {input name: tensor}"):
        batches(lambda size: dataset(size).map(lambda each: (each["x"], each["y"]))).batch(0)
    with pytest.raises(InputError, match="got 'x', it must have 'y'"):
        batches(lambda size: dataset(size).map(lambda each: {"x": each["x"]})).batch(0)
    with pytest.raises(InputError, match="'x' must be float"):
        batches(lambda size: dataset(size).map(lambda each: dict(each, x=tf.sparse.from_dense(each["x"])))).batch(0)
