"""The mean of one gradient, in the styles in which programs write that of several."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.context import Context
from legacy.saved.analysis.reduction.means_of_one import is_mean_of_one
from tests.legacy.saved.graphs import traced
from workloads.lifted.graph import TensorId

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "combine, is_mean",
    [
        (lambda g: tf.reduce_mean(tf.stack([g]), 0), True),
        (lambda g: tf.reduce_mean(tf.concat([tf.expand_dims(g, 0)], 0), 0), True),
        (lambda g: tf.add_n([g]) / 1.0, True),
        (lambda g: tf.clip_by_norm(tf.reduce_mean(tf.stack([g]), 0), 2.0), True),
        (lambda g: tf.add_n([g]), False),
        (lambda g: tf.reduce_sum(tf.stack([g]), 0), False),
        (lambda g: g - tf.reduce_mean(g, 0, keepdims=True), False),  # centralized
        (lambda g: g / 2.0, False),
    ],
)
def test_a_mean_of_one_gradient(combine, is_mean):
    def build():
        w = v1.get_variable("w", initializer=tf.ones([2, 3]), use_resource=False)
        update = tf.identity(combine(tf.gradients(tf.reduce_sum(tf.square(w)), [w])[0]), "combined")
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(update, w)], name="train")

    context = Context(traced(build), ["w"])
    found = is_mean_of_one(context.graph, context.imported, context.of_gradients, TensorId("combined", 0))
    assert found == is_mean
