"""A traced float32 step in float64: its constants, its functions, its variables, and what has no form there."""

import numpy as np
import pytest
import tensorflow as tf

from modern.double.step_function import step_in_float64
from workloads.lifted.double.errors import NotInDouble

BATCH = {"x": tf.constant([1.0, 2.0])}


def test_constants_and_inputs_are_float32_numbers_and_the_arithmetic_is_float64():
    run = step_in_float64(lambda batch: {"y": batch["x"] * 0.1 + 1e-9}, BATCH, {})
    expected = np.float64(np.float32(0.1)) * np.array([1.0, 2.0]) + np.float64(np.float32(1e-9))
    found = run(BATCH)["y"].numpy()
    assert found.dtype == np.float64 and np.array_equal(found, expected)
    assert not np.array_equal(found, (BATCH["x"] * 0.1 + 1e-9).numpy())


def test_a_dtype_that_the_step_names_and_its_inner_functions_are_float64_too():
    third = tf.function(lambda x: x / 3.0)

    def step(batch):
        x = tf.cast(tf.cast(batch["x"], tf.int32), tf.float32)
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: third(x), lambda: x), tf.map_fn(lambda v: v / 3.0, x)

    for found in step_in_float64(step, BATCH, {})(BATCH):
        assert np.array_equal(found.numpy(), np.array([1.0, 2.0]) / 3.0)


def test_variables_are_replaced_and_updated_in_order():
    narrow, wide = tf.Variable([1.0, 1.0]), tf.Variable(np.ones(2))

    def step(batch):
        before = narrow.read_value()
        narrow.assign_sub(batch["x"] / 3.0)
        return before, narrow.read_value()

    before, after = step_in_float64(step, BATCH, {id(narrow.handle): wide.handle})(BATCH)
    assert before.numpy().tolist() == [1.0, 1.0] == narrow.numpy().tolist()
    assert np.array_equal(after, 1.0 - np.array([1.0, 2.0]) / 3.0) and np.array_equal(after, wide)


def test_an_unnamed_variable_and_an_op_without_a_form_are_refused():
    variable = tf.Variable(1.0)
    with pytest.raises(NotInDouble, match="variables beside those of the comparison"):
        step_in_float64(lambda batch: batch["x"] * variable, BATCH, {})
    wide = tf.Variable(np.float64(1))
    with pytest.raises(NotInDouble, match="FakeQuantWithMinMaxArgs 'quant' has no form in float64"):
        step = lambda batch: tf.quantization.fake_quant_with_min_max_args(batch["x"] * variable, name="quant")  # noqa: E731
        step_in_float64(step, BATCH, {id(variable.handle): wide.handle})
