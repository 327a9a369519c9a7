"""The softmax of 1.x before 1.13, of rows between two reshapes, as one function; and reshapes that are none of it."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.source.basics.old_derivatives import WAITED_FOR
from legacy.source.idioms.softmax import FUNCTIONS
from tests.legacy.source.tiny import values_of, written

v1 = tf.compat.v1


def of_rows(x, softmax=tf.nn.softmax):
    """As 1.4 builds it: the size of the last dimension is cut out of the shape."""
    shape, rank = tf.shape(x), len(x.shape)
    rows = tf.reshape(x, tf.concat([[-1], tf.slice(shape, [rank - 1], [1])], 0))
    return tf.reshape(softmax(rows), shape)


def part(x, table):
    """A vector whose length the graph computes."""
    return tf.reshape(x, [-1])[: tf.cast(table[0], tf.int32)]


@pytest.mark.parametrize("softmax, name", [(tf.nn.softmax, "softmax"), (tf.nn.log_softmax, "log_softmax")])
def test_a_softmax_of_rows_between_reshapes_is_one_function(softmax, name):
    lines = written(lambda x: of_rows(x, softmax), {"x": [2, 3]})
    assert lines == [f'return tf.nn.{name}(batch["x"])']
    x = np.random.RandomState(0).rand(5, 2, 3).astype(np.float32)
    assert np.array_equal(values_of(lines, {"x": x}), of_rows(tf.constant(x), softmax).numpy())


def test_a_vector_of_a_computed_length_has_one_too():
    lines = written(lambda x, table: of_rows(part(x, table)), {"x": [3]}, {"table": [1]})
    assert lines[-1].startswith("return tf.nn.softmax(") and not any("concat" in line for line in lines)
    given = {"x": np.random.RandomState(0).rand(4, 3).astype(np.float32), "table": np.float32([7])}
    assert np.array_equal(values_of(lines, given), tf.nn.softmax(given["x"].ravel()[:7]).numpy())


def beside_two_other_uses(x, is_waited_for, softmax=tf.nn.softmax):
    """The gradient of `y` has three parts, of which the order depends on when the one behind the softmax comes."""
    y = tf.tanh(x)
    rows = tf.reshape(y, [-1, 3])
    if is_waited_for:
        rows.op._set_attr(WAITED_FOR, v1.AttrValue(b=True))
    return y + tf.sin(y) + tf.reshape(softmax(rows), tf.shape(y))


@pytest.mark.parametrize("softmax, name", [(tf.nn.softmax, "softmax"), (tf.nn.log_softmax, "log_softmax")])
@pytest.mark.parametrize("is_waited_for", [True, False])
def test_a_softmax_whose_gradient_waited_for_sizes_is_as_many_ops(softmax, name, is_waited_for):
    lines = written(lambda x: beside_two_other_uses(x, is_waited_for, softmax), {"x": [2, 3]})
    assert (f"late_{name}(" in "".join(lines)) == is_waited_for and ("tf.reshape(" in "".join(lines)) != is_waited_for


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_late_functions_have_the_values_and_six_ops(name):
    space = {"tf": tf}
    exec("\n".join(FUNCTIONS[f"late_{name}"]), space)
    with tf.Graph().as_default() as graph, v1.Session() as session:
        x = tf.constant(np.random.RandomState(0).rand(5, 2, 3).astype(np.float32))
        made, plain = space[f"late_{name}"](x), getattr(tf.nn, name)(x)
        ops = [one.type for one in graph.get_operations() if one.type == "Identity"]
        assert len(ops) == 5  # beside the softmax itself: for a reshape back, one to rows, and sizes of three ops
        assert np.array_equal(*session.run([tf.gradients(made**2, x), tf.gradients(plain**2, x)]))


@pytest.mark.parametrize(
    "build",
    [
        lambda x: tf.reshape(tf.nn.softmax(tf.reshape(x, [-1, 6])), [-1, 2, 3]),  # along two dimensions
        lambda x: tf.reshape(tf.nn.softmax(tf.reshape(x, [-1, 3])), [-1, 3, 2]),  # another shape
        lambda x: tf.reshape(tf.exp(tf.reshape(x, [-1, 3])), tf.shape(x)),
    ],
)
def test_other_reshapes_stay(build):
    lines = written(build, {"x": [2, 3]})
    assert "tf.reshape(" in "".join(lines)
    x = np.random.RandomState(0).rand(5, 2, 3).astype(np.float32)
    assert np.array_equal(values_of(lines, {"x": x}), build(tf.constant(x)).numpy())


def with_stopped_labels(x, y):
    return v1.nn.softmax_cross_entropy_with_logits(labels=y, logits=x)


def with_labels(x, y):
    return tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=x)


@pytest.mark.parametrize("shape", [[3], [2, 3]])
def test_a_cross_entropy_of_distributions_is_one_function_with_its_reshapes(shape):
    """The reshapes that it makes are not written again: gradients of what is behind them would have another order."""
    call = 'return tf.nn.softmax_cross_entropy_with_logits(labels={}, logits=batch["x"])'
    assert written(with_labels, {"x": shape, "y": shape}) == [call.format('batch["y"]')]
    stopped = written(with_stopped_labels, {"x": shape, "y": shape})
    assert stopped == [call.format('tf.stop_gradient(batch["y"])')]
    given = {name: np.random.RandomState(0).rand(5, *shape).astype(np.float32) for name in "xy"}
    expected = with_labels(given["x"], given["y"]).numpy()
    assert np.array_equal(values_of([call.format('batch["y"]')], given), expected)


def of_steps(x, y):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.argmax(y, -1), logits=x)


def test_a_cross_entropy_of_class_numbers_of_each_step_is_one_function():
    lines = written(of_steps, {"x": [2, 3], "y": [2, 3]})
    assert "tf.reshape" not in "".join(lines)
    assert 'logits=batch["x"]' in lines[-1] and "return tf.nn.sparse_softmax_cross_entropy_with_logits(" in lines[-1]
    given = {name: np.random.RandomState(0).rand(5, 2, 3).astype(np.float32) for name in "xy"}
    assert np.array_equal(values_of(lines, given), of_steps(**given).numpy())


@pytest.mark.parametrize(
    "build",
    [
        lambda x, y: tf.reshape(with_labels(x, y), [-1, 1]),
        lambda x, y: with_labels(tf.reshape(x, [-1, 6]), tf.reshape(y, [-1, 6])),  # over two dimensions
        lambda x, y: with_labels(tf.reshape(x, [-1, 3]), tf.reshape(tf.transpose(y, [0, 2, 1]), [-1, 3])),
    ],
)
def test_reshapes_of_the_program_beside_a_cross_entropy_stay(build):
    lines = written(build, {"x": [2, 3], "y": [2, 3]})
    assert "tf.reshape(" in "".join(lines)
    given = {name: np.random.RandomState(0).rand(5, 2, 3).astype(np.float32) for name in "xy"}
    assert np.array_equal(values_of(lines, given), build(*map(tf.constant, given.values())).numpy())
