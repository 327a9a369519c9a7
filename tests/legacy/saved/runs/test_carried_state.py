"""Placeholders that a program fed with the last step's results, as variables."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.runs.carried_state import carry_state
from tests.legacy.saved.graphs import graph_of
from workloads.support.errors import InputError

TEXT = """
    state = Placeholder()
    next = Tanh(state)
    tower/train = NoOp(^next)
    """


def graph(shape=(2, 3)):
    return graph_of(TEXT, state={"dtype": tf.float32, "shape": tf.TensorShape(shape)})


def test_nothing_carried_changes_nothing():
    whole = graph()
    assert carry_state(whole, {}, ["tower/train"]) == (whole, ["tower/train"])


def test_a_carried_placeholder_becomes_a_variable_of_zeros_that_the_step_assigns():
    whole = graph()
    carried, targets = carry_state(whole, {"state:0": "next:0"}, ["tower/train"])
    assert carried.type("state") == "VariableV2"
    assert [dim.size for dim in carried.nodes["state"].attr["shape"].shape.dim] == [2, 3]
    zeros = tf.make_ndarray(carried.nodes["state/first"].attr["value"].tensor)
    assert zeros.dtype == np.float32 and zeros.shape == (2, 3) and not zeros.any()
    assert carried.inputs("state/Assign") == [("state", 0), ("state/first", 0)]
    assert carried.inputs("state/carry") == [("state", 0), ("next", 0)]
    assert targets == ["tower_train_and_carry"]
    assert carried.controls("tower_train_and_carry") == ["tower/train", "state/carry"]
    assert whole.type("state") == "Placeholder", "the graph that was given stays as it is"


def test_a_carried_state_of_constants_begins_with_its_own_value():
    text = """
    size = Const()
    value = Const()
    state = Fill(size, value)
    next = Tanh(state)
    train = NoOp(^next)
    """
    numbers = {"size": np.array([2, 3], np.int32), "value": np.array(0.5, np.float32)}
    constants = {name: {"dtype": tf.as_dtype(array.dtype), "value": array} for name, array in numbers.items()}
    fill = {"T": tf.float32, "index_type": tf.int32}
    carried, _ = carry_state(graph_of(text, state=fill, **constants), {"state": "next:0"}, ["train"])
    assert carried.type("state") == "VariableV2" and carried.inputs("state") == []
    first = tf.make_ndarray(carried.nodes["state/first"].attr["value"].tensor)
    assert first.dtype == np.float32 and np.array_equal(first, np.full((2, 3), 0.5))


def test_the_recorded_output_shape_counts_before_the_placeholders_own():
    whole = graph_of(TEXT, state={"dtype": tf.int32, "_output_shapes": [tf.TensorShape([4])]})
    carried, _ = carry_state(whole, {"state": "next"}, ["tower/train"])
    assert [dim.size for dim in carried.nodes["state"].attr["shape"].shape.dim] == [4]


@pytest.mark.parametrize(
    "carried, shape, message",
    [
        ({"missing": "next"}, (2,), "--carry: got 'missing', no such tensor"),
        ({"next": "next"}, (2,), "--carry: got 'next', its first value depends on 'state', must be constant"),
        ({"state:1": "next"}, (2,), "--carry: got 'state:1', must be the only output of its op"),
        ({"state": "missing:0"}, (2,), "--carry: got 'missing:0', no such tensor"),
        ({"state": "next"}, (None, 3), r"--carry: got 'state', its shape is \(None, 3\), must be known"),
        ({"state": "next"}, None, "--carry: got 'state', its shape is <unknown>, must be known"),
    ],
)
def test_wrong_names_and_open_shapes_are_refused(carried, shape, message):
    with pytest.raises(InputError, match=message):
        carry_state(graph(shape), carried, ["tower/train"])
