"""The mean of one gradient, in the styles in which programs write that of several."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.analysis.context import Context
from legacy.saved.analysis.reduction.means_of_one import is_mean_of_one, is_mean_of_several
from tests.legacy.saved.graphs import saved, traced
from workloads.lifted.graph import TensorId
from workloads.lifted.plan import Combine

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


@pytest.mark.parametrize(
    "combine, is_mean",
    [
        (lambda g: tf.reduce_mean(tf.stack(g), 0), True),
        (lambda g: tf.reduce_mean(tf.concat([tf.expand_dims(one, 0) for one in g], 0), 0), True),
        (lambda g: tf.identity(tf.reshape(tf.reduce_mean(tf.stack(g), 0), [2, 3])), True),
        (lambda g: tf.add_n(g), False),
        (lambda g: tf.reduce_sum(tf.stack(g), 0), False),
        (lambda g: tf.reduce_mean(tf.concat(g, 0), 0, keepdims=True) + tf.zeros([2, 3]), False),  # over rows
        (lambda g: g[0] - tf.reduce_mean(g[0], 0, keepdims=True), False),
    ],
)
def test_a_mean_of_several_gradients(combine, is_mean):
    def build():
        w = v1.get_variable("w", initializer=tf.ones([2, 3]), use_resource=False)
        losses = [tf.reduce_sum(tf.pow(w, float(power))) for power in (2, 3, 4)]
        update = tf.identity(combine([tf.gradients(loss, [w])[0] for loss in losses]), "combined")
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(update, w)], name="train")

    context = Context(traced(build), ["w"])
    combined = Combine("w", "sum", "combined:0", 1.0, [["combined:0"]])
    assert is_mean_of_several(context.graph, context.of_gradients, combined) == is_mean


def norm(values):
    """A loss that is neither a mean over examples nor a sum."""
    return tf.square(tf.norm(values) - 1.0)


@pytest.mark.parametrize(
    "loss, combine, kind",
    [
        (norm, lambda g: tf.reduce_mean(tf.stack(g), 0), "mean"),
        (norm, lambda g: tf.add_n(g) / 2.0, "mean"),
        (tf.reduce_sum, lambda g: tf.reduce_mean(tf.stack(g), 0), "mean"),
        (norm, lambda g: tf.add_n(g) / 4.0, "sum"),
        (norm, tf.add_n, "sum"),
        (tf.reduce_sum, tf.add_n, "sum"),
        (tf.reduce_mean, tf.add_n, "mean"),
    ],
)
def test_replicas_average_as_devices_did_that_take_each_others_results(loss, combine, kind):
    def build():
        w = v1.get_variable("w", [3, 2], use_resource=False)
        x = v1.placeholder(tf.float32, [8, 3], "x")
        state, gradients = tf.zeros([4, 2]), []
        for k, part in enumerate(tf.split(x, 2)):
            with tf.device(f"/gpu:{k}"), tf.name_scope(f"tower_{k}"):
                state = tf.tanh(part @ w + state)
                gradients.append(tf.gradients(loss(tf.square(state)), [w])[0])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(combine(gradients), w)], name="train")

    found = analyse_graph(saved(traced(build), trainable_variables=["w"]), "small")
    (combined,) = found.plan.phases[0].combine
    assert found.plan.towers == 1 and found.context.towers.doubt
    assert ("mean" if combined.divided else combined.kind) == kind
