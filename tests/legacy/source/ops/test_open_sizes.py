"""Dense layers on tensors whose sizes are known when they run, such as what a loop gives, and their cross-entropy."""

import numpy as np
import tensorflow as tf

from tests.legacy.source.tiny import values_of, written

v1 = tf.compat.v1
SIZES, WEIGHTS = {"x": [5, 3]}, {"w": [3, 2]}


def opened(x):
    """`x` [batch, 5, 3] from an array, of which only the last dimension is known."""
    array = tf.TensorArray(tf.float32, 5, element_shape=[None, 3]).unstack(tf.transpose(x, [1, 0, 2]))
    return tf.transpose(array.stack(), [1, 0, 2])


def test_a_dense_layer_on_open_sizes_is_a_tensordot_and_has_its_bits():
    lines = written(lambda x, w: tf.tensordot(opened(x), w, 1), SIZES, WEIGHTS)
    assert lines[-1].startswith("return tf.tensordot(") and lines[-1].endswith(', scope.get("w", (3, 2)), 1)'), lines
    rng = np.random.RandomState(0)
    given = {"x": rng.randn(4, 5, 3).astype(np.float32), "w": rng.randn(3, 2).astype(np.float32)}
    assert np.array_equal(values_of(lines, given), tf.tensordot(given["x"], given["w"], 1))


def test_a_product_of_another_dimension_is_no_such_tensordot():
    def turned(x, w):
        first = tf.transpose(opened(x), [2, 1, 0])
        return tf.transpose(tf.tensordot(first, w, [[0], [0]]), [1, 0, 2])

    lines = written(turned, SIZES, WEIGHTS)
    assert "tf.tensordot" not in "\n".join(lines)


def test_a_product_of_rows_of_another_size_is_no_tensordot():
    def flat(x, w):
        seen = opened(x)
        return tf.reshape(tf.matmul(tf.reshape(seen, [-1, 3]), w), [tf.shape(seen)[1], tf.shape(seen)[0], 2])

    assert "tf.tensordot" not in "\n".join(written(flat, SIZES, WEIGHTS))


def of_words(x, logits):
    labels = tf.argmax(x, -1)
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)


def test_the_cross_entropy_of_open_logits_is_one_call():
    lines = written(lambda x: of_words(x, opened(x)), SIZES)
    assert "return tf.nn.sparse_softmax_cross_entropy_with_logits(" in lines[-1], lines
    assert "tf.reshape" not in "\n".join(lines)
    given = {"x": np.random.RandomState(0).randn(4, 5, 3).astype(np.float32)}
    assert np.array_equal(values_of(lines, given), of_words(tf.constant(given["x"]), tf.constant(given["x"])))


def test_the_cross_entropy_of_rows_in_another_order_keeps_its_reshape():
    def turned(x):
        logits = tf.reshape(tf.transpose(opened(x), [1, 0, 2]), [-1, tf.shape(opened(x))[2]])
        labels = tf.reshape(tf.argmax(x, -1), [-1])
        cost = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        return tf.reshape(cost, tf.shape(x)[:2])

    lines = written(turned, SIZES)
    given = {"x": np.random.RandomState(0).randn(4, 5, 3).astype(np.float32)}
    assert np.array_equal(values_of(lines, given), turned(tf.constant(given["x"])))
