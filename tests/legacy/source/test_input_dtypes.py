"""Inputs of other dtypes than those that a port's batch has: float32, and int32 for whole numbers."""

import contextlib

import pytest
import tensorflow as tf

from tests.legacy.source.trained import assert_trains_alike, assert_workload_verified, source_of
from tests.legacy.variants.programs import lifted, mean_of, sum_of_squares, towers, weights
from workloads.support.errors import InputError

v1 = tf.compat.v1


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_what_the_old_graph_computes_in_another_precision_is_computed_in_it(dtype, tmp_path):
    """As of images that were stored in half precision; a tenth has other digits in each dtype."""

    def build():
        xs = tf.split(v1.placeholder(dtype, [8, 3], name="x"), 2)

        def gradient(tower):
            x = tf.cast(xs[tower] * tf.constant(0.1, dtype), tf.float32)
            return tf.gradients(sum_of_squares(x), [weights()])[0]

        return mean_of(towers(gradient))

    setup = lifted(build, tmp_path)
    source = source_of(setup, "workload")
    cast = f'tf.cast(batch["x"], tf.{dtype})'
    assert cast in source.text
    assert_workload_verified(setup, tmp_path, source)
    assert cast in source_of(setup).text
    as_given = assert_workload_verified(setup, tmp_path, source, lambda text: text.replace(cast, 'batch["x"]'))
    assert not as_given.passed


@pytest.mark.parametrize("style", ["workload", "standalone"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_weights_of_another_precision_are_refused(dtype, style, tmp_path):
    """A source makes its weights in float32, and the model's numbers of float64 would meet them in another dtype."""

    def build():
        xs = tf.split(v1.placeholder("float32", [8, 3], name="x"), 2)
        w = v1.get_variable("w", [3, 2], dtype, tf.ones_initializer(), use_resource=False)

        def gradient(tower):
            return tf.gradients(tf.reduce_sum(tf.square(tf.cast(xs[tower], dtype) @ w)), [w])[0]

        total = tf.add_n(towers(gradient)) / 2
        return v1.train.GradientDescentOptimizer(0.5).apply_gradients([(total, w)])

    setup = lifted(build, tmp_path)
    refused = pytest.raises(InputError, match="the weight 'w' is float64; weights of a source are float32")
    with contextlib.nullcontext() if dtype == "float32" else refused:
        source_of(setup, style)


def test_a_variable_of_whole_numbers_is_cast_to_its_dtype(tmp_path):
    """As the labels of a preloaded data set: a port's variables are floats, and an op that takes classes wants none."""

    def build():
        xs = tf.split(v1.placeholder("float32", [8, 3], name="x"), 2)
        labels = v1.get_variable("labels", initializer=tf.constant([1, 0, 1, 1]), trainable=False, use_resource=False)

        def gradient(tower):
            loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=tf.matmul(xs[tower], weights()))
            return tf.gradients(tf.reduce_mean(loss), [weights()])[0]

        return mean_of(towers(gradient))

    setup = lifted(build, tmp_path)
    source = source_of(setup, "workload")
    cast = 'tf.cast(scope.get("labels", (4,), trainable=False), tf.int32)'
    assert cast in source.text
    assert_workload_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)
    other = assert_workload_verified(setup, tmp_path, source, lambda text: text.replace(cast, "1 - " + cast))
    assert not other.passed
