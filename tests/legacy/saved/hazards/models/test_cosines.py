"""Classes by cosines: scaled and not, and normalized along each axis."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.models.cosines import (
    compared_with_themselves,
    cosines_for_logits,
    minimized_cosines,
    weights_normalized_along_classes,
)
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(check, logits):
    def build():
        w, c = v1.get_variable("w", [4, 3], use_resource=False), v1.get_variable("c", [3, 5], use_resource=False)
        x, labels = v1.placeholder(tf.float32, [8, 4], "x"), v1.placeholder(tf.int32, [8], "labels")
        loss = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits(x @ w, c))
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(loss), name="train")

    return [hazard.id for hazard in check(WholeGraph(saved(traced(build), trainable_variables=["w", "c"])))]


def cosines(axis):
    return lambda e, c: tf.nn.l2_normalize(e, 1) @ tf.nn.l2_normalize(c, axis)


def with_margin(cosine):
    true = tf.one_hot(v1.placeholder(tf.int32, [8], "true"), int(cosine.shape[1])) > 0.0
    return tf.where(true, cosine - 0.35, cosine)


def by_labels(cosine, scaled=lambda x: x):
    """Cosines of which one-hot labels exchange that of the true class, by an angle that is added."""
    true = tf.one_hot(v1.placeholder(tf.int32, [8], "true"), int(cosine.shape[1]))
    bounded = tf.clip_by_value(cosine, -0.999, 0.999)
    turned = 0.88 * bounded - 0.48 * tf.sqrt(1.0 - bounded * bounded)
    return true * scaled(turned) + (1.0 - true) * scaled(bounded)


def less_margin(cosine):
    return cosine - 0.35 * tf.one_hot(v1.placeholder(tf.int32, [8], "true"), int(cosine.shape[1]))


@pytest.mark.parametrize(
    "logits, count",
    [
        (cosines(0), 1),
        (lambda e, c: by_labels(cosines(0)(e, c)), 1),
        (lambda e, c: 30.0 * by_labels(cosines(0)(e, c)), 0),
        (lambda e, c: by_labels(cosines(0)(e, c), lambda x: 30.0 * x), 0),
        (lambda e, c: by_labels(30.0 * cosines(0)(e, c)), 0),
        (lambda e, c: by_labels(tf.nn.l2_normalize(e, 1) @ c), 0),
        (lambda e, c: less_margin(cosines(0)(e, c)), 1),
        (lambda e, c: 30.0 * less_margin(cosines(0)(e, c)), 0),
        (lambda e, c: tf.cos(e @ c), 1),
        (lambda e, c: 30.0 * cosines(0)(e, c), 0),
        (lambda e, c: 0.1 * cosines(0)(e, c), 1),
        (lambda e, c: with_margin(cosines(0)(e, c)), 1),
        (lambda e, c: 30.0 * with_margin(cosines(0)(e, c)), 0),
        (lambda e, c: tf.nn.l2_normalize(e, 1) @ c, 0),
        (cosines(1), 0),  # no cosines
        (lambda e, c: tf.matmul(*[tf.nn.l2_normalize(e, 1)] * 2, transpose_b=True), 0),  # examples with each other
    ],
)
def test_cosines_for_logits_are_named(logits, count):
    assert found(cosines_for_logits, logits) == ["COSINES_FOR_LOGITS"] * count


@pytest.mark.parametrize(
    "logits, count",
    [
        (lambda e, c: 9.0 * cosines(1)(e, c), 1),
        (lambda e, c: 9.0 * cosines(-1)(e, c), 1),
        (lambda e, c: (e / tf.norm(e, axis=1, keepdims=True)) @ (c / tf.norm(c, axis=1, keepdims=True)), 1),
        (lambda e, c: (e / tf.norm(e, axis=1, keepdims=True)) @ (c / tf.norm(c, axis=0, keepdims=True)), 0),
        (lambda e, c: e / tf.norm(e, axis=1, keepdims=True) @ (c / (1.0 + tf.norm(c, axis=1, keepdims=True))), 0),
        (cosines(0), 0),
        (lambda e, c: tf.matmul(tf.nn.l2_normalize(e, 1), tf.nn.l2_normalize(tf.transpose(c), 0), transpose_b=True), 0),
        (lambda e, c: e @ tf.nn.l2_normalize(c, 1), 0),
    ],
)
def test_class_weights_that_are_normalized_along_the_classes_are_named(logits, count):
    assert found(weights_normalized_along_classes, logits) == ["NORM_OVER_CLASSES"] * count


def to_given_vectors(loss):
    def build():
        w, x = v1.get_variable("w", [4, 3], use_resource=False), v1.placeholder(tf.float32, [8, 4], "x")
        given = [tf.nn.l2_normalize(v1.placeholder(tf.float32, [8, 3], name), 1) for name in ("vectors", "others")]
        cosines = [tf.reduce_sum(tf.nn.l2_normalize(x @ w, 1) * vectors, 1) for vectors in given]
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(loss(*cosines)), name="train")

    return [hazard.id for hazard in minimized_cosines(WholeGraph(saved(traced(build), trainable_variables=["w"])))]


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda cosine, other: cosine, 1),
        (lambda cosine, other: 0.5 * cosine, 1),
        (lambda cosine, other: 1.0 - cosine, 0),
        (lambda cosine, other: other - cosine, 0),  # near one, and far from the other
        (lambda cosine, other: tf.nn.relu(0.2 + cosine), 0),
    ],
)
def test_a_cosine_that_is_minimized_is_named(loss, count):
    assert to_given_vectors(loss) == ["COSINE_MINIMIZED"] * count


def products(e, other=None):
    return tf.matmul(e, e if other is None else other, transpose_b=True)


@pytest.mark.parametrize(
    "logits, count",
    [
        (lambda e, c: products(tf.nn.l2_normalize(e, 1)) / 0.1, 1),
        (lambda e, c: products(e) * 5.0, 1),
        (lambda e, c: products(e) / 0.1 - 1e9 * tf.eye(8), 0),
        (lambda e, c: tf.linalg.set_diag(products(e), tf.fill([8], -1e9)), 0),
        (lambda e, c: products(e, tf.tanh(e)), 0),  # pairs of two views
        (lambda e, c: e @ c, 0),
        # beside another view of each example
        (lambda e, c: tf.concat([products(e, tf.tanh(e)) / 0.5, products(e) / 0.5], 1), 1),
        (lambda e, c: tf.concat([products(e, tf.tanh(e)) / 0.5, products(e) / 0.5 - 1e9 * tf.eye(8)], 1), 0),
        (lambda e, c: tf.concat([products(e, tf.tanh(e)), e @ c], 1), 0),
    ],
)
def test_examples_that_are_compared_with_themselves_are_named(logits, count):
    assert found(compared_with_themselves, logits) == ["COMPARED_WITH_THEMSELVES"] * count
