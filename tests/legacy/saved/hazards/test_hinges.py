"""Hinge losses of labels that are 0 and 1 beside -1 and 1, and margins with a hinge and without."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.hinges import (
    hinges_of_means,
    hinges_of_zero,
    margins_without_effect,
    negative_margins,
    reversed_hinges,
)
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards import minimized

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "labels, margin, count",
    [
        (lambda ids: tf.one_hot(ids, 3), lambda product: tf.maximum(0.0, 1.0 - product), 1),
        (lambda ids: tf.one_hot(ids, 3), lambda product: tf.nn.relu(1.0 - product), 1),
        (lambda ids: tf.cast(ids[:, tf.newaxis] > 1, tf.float32), lambda product: tf.nn.relu(1.0 - product), 1),
        (lambda ids: 2.0 * tf.one_hot(ids, 3) - 1.0, lambda product: tf.nn.relu(1.0 - product), 0),
        (lambda ids: tf.one_hot(ids, 3, 1.0, -1.0), lambda product: tf.nn.relu(1.0 - product), 0),
        (lambda ids: tf.one_hot(ids, 3), lambda product: tf.nn.relu(product), 0),
    ],
)
def test_a_hinge_of_labels_that_are_0_is_named(labels, margin, count):
    def build():
        w, x = v1.get_variable("w", [4, 3], use_resource=False), v1.placeholder(tf.float32, [8, 4], "x")
        loss = tf.reduce_mean(margin(labels(v1.placeholder(tf.int32, [8], "ids")) * (x @ w)))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    found = hinges_of_zero(WholeGraph(saved(traced(build), trainable_variables=["w"])))
    assert [hazard.id for hazard in found] == ["HINGE_OF_ZERO"] * count


def distance(one, other):
    return tf.reduce_sum(tf.square(one - other), 1)


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda near, far: near - far + 0.2, 1),
        (lambda near, far: tf.sqrt(near + 1e-6) - tf.sqrt(far + 1e-6) + 0.2, 1),
        (lambda near, far: tf.maximum(near - far + 0.2, 0.0), 0),
        (lambda near, far: tf.nn.softplus(near - far + 0.2), 0),
        (lambda near, far: near - far, 0),  # no margin: a score, such as a critic's
        (lambda near, far: near + 0.2, 0),
    ],
)
def test_a_margin_without_a_hinge_is_named(loss, count):
    def build():
        w, x = v1.get_variable("w", [4, 3], use_resource=False), v1.placeholder(tf.float32, [12, 4], "x")
        anchor, same, other = tf.split(x @ w, 3)
        total = tf.reduce_mean(loss(distance(anchor, same), distance(anchor, other)))
        v1.train.GradientDescentOptimizer(0.5).minimize(total, name="train")

    found = margins_without_effect(WholeGraph(saved(traced(build), trainable_variables=["w"])))
    assert [hazard.id for hazard in found] == ["MARGIN_WITHOUT_EFFECT"] * count


def hardest_of_batch(embedded, margin, chooses=False):
    """The farthest example of the same class and the nearest one of another, of each example."""
    products = tf.matmul(embedded, embedded, transpose_b=True)
    squares = tf.linalg.diag_part(products)
    distances = tf.sqrt(tf.maximum(squares[:, None] - 2.0 * products + squares[None], 1e-12))
    labels = v1.placeholder(tf.int32, [12], "labels")
    same = tf.cast(tf.equal(labels[:, None], labels[None]), tf.float32)
    near = tf.reduce_max(distances * same, 1)
    far = tf.reduce_min(distances + 10.0 * same, 1)
    if chooses:
        near = tf.reduce_max(tf.where(same > 0.5, distances, tf.zeros_like(distances)), 1)
        far = tf.reduce_min(tf.where(same > 0.5, 10.0 * tf.ones_like(distances), distances), 1)
    return margin(near, far)


@pytest.mark.parametrize(
    "margin, count",
    [
        (lambda near, far: near - far + 0.3, 1),
        (lambda near, far: tf.maximum(near - far + 0.3, 0.0), 0),
        (lambda near, far: tf.nn.softplus(near - far), 0),
        (lambda near, far: near - far, 0),
    ],
)
@pytest.mark.parametrize("chooses", [False, True])
def test_a_margin_of_the_hardest_pairs_without_a_hinge_is_named(margin, count, chooses):
    def build():
        w, x = v1.get_variable("w", [4, 3], use_resource=False), v1.placeholder(tf.float32, [12, 4], "x")
        total = tf.reduce_mean(hardest_of_batch(x @ w, margin, chooses))
        v1.train.GradientDescentOptimizer(0.5).minimize(total, name="train")

    found = margins_without_effect(WholeGraph(saved(traced(build), trainable_variables=["w"])))
    assert [hazard.id for hazard in found] == ["MARGIN_WITHOUT_EFFECT"] * count


@pytest.mark.parametrize("hinge, count", [(False, 1), (True, 0)])
def test_a_margin_of_absolute_differences_is_one(hinge, count):
    """As TransE compares true triples with others."""

    def build():
        table, ids = v1.get_variable("w", [9, 3], use_resource=False), v1.placeholder(tf.int32, [4, 3], "ids")
        near, far = (
            tf.reduce_sum(tf.abs(tf.gather(table, ids[:, 0]) - tf.gather(table, ids[:, n])), 1) for n in (1, 2)
        )
        margin = near - far + 1.0
        total = tf.reduce_sum(tf.maximum(margin, 0.0) if hinge else margin)
        v1.train.GradientDescentOptimizer(0.5).minimize(total, name="train")

    found = margins_without_effect(WholeGraph(saved(traced(build), trainable_variables=["w"])))
    assert [hazard.id for hazard in found] == ["MARGIN_WITHOUT_EFFECT"] * count


def rows(distances):
    """Distances of two examples each, as those of the samples of one triple."""
    return tf.reshape(distances, [-1, 2])


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda near, far: tf.maximum(tf.reduce_mean(near - far + 0.2), 0.0), 1),
        (lambda near, far: tf.nn.relu(tf.reduce_mean(near - far) + 0.2), 1),
        (lambda near, far: tf.reduce_mean(tf.maximum(near - far + 0.2, 0.0)), 0),
        (lambda near, far: tf.reduce_sum(tf.maximum(tf.reduce_mean(rows(near) - rows(far), 1) + 0.2, 0.0)), 0),
        (lambda near, far: tf.reduce_sum(tf.maximum(tf.reduce_mean(rows(near) - rows(far), 0) + 0.2, 0.0)), 1),
        (lambda near, far: tf.maximum(tf.reduce_mean(near) - 0.2, 0.0), 0),  # a bound of a mean
        (lambda near, far: tf.maximum(tf.reduce_mean(near - far) - 0.2, 0.0), 0),
    ],
)
def test_a_hinge_of_a_mean_is_named(loss, count):
    def build():
        w, x = v1.get_variable("w", [4, 3], use_resource=False), v1.placeholder(tf.float32, [12, 4], "x")
        anchor, same, other = tf.split(x @ w, 3)
        total = loss(distance(anchor, same), distance(anchor, other))
        v1.train.GradientDescentOptimizer(0.5).minimize(total, name="train")

    found = hinges_of_means(WholeGraph(saved(traced(build), trainable_variables=["w"])))
    assert [hazard.id for hazard in found] == ["HINGE_OF_A_MEAN"] * count


@pytest.mark.parametrize(
    "margin, count",
    [
        (lambda y, score: 1.0 + y * score, 1),
        (lambda y, score: y * score + 1.0, 1),
        (lambda y, score: 1.0 - y * score, 0),
        (lambda y, score: 1.0 + -y * score, 0),
        (lambda y, score: 1.0 + score, 0),  # of made examples, as a critic's
    ],
)
def test_a_hinge_of_the_other_sign_is_named(margin, count):
    def total():
        score = tf.reduce_sum(minimized.fed("x", 8, 4) @ minimized.variable("w", 4, 3), 1)
        return tf.reduce_mean(tf.maximum(0.0, margin(minimized.fed("y", 8), score)))

    assert minimized.found(reversed_hinges, total) == ["HINGE_REVERSED"] * count


@pytest.mark.parametrize(
    "codes, margin, count",
    [
        (lambda ids: 2.0 * tf.one_hot(ids, 3) - 1.0, lambda t, z: 1.0 + t * z, 1),
        (lambda ids: tf.one_hot(ids, 3) * 2.0 + (-1.0), lambda t, z: z * t + 1.0, 1),
        (lambda ids: tf.one_hot(ids, 3, 1.0, -1.0), lambda t, z: 1.0 + t * z, 1),
        (lambda ids: 2.0 * tf.one_hot(ids, 3) - 1.0, lambda t, z: 1.0 - t * z, 0),
        (lambda ids: 1.0 - tf.one_hot(ids, 3), lambda t, z: 1.0 + t * z, 0),  # of the other classes
        (lambda ids: 2.0 * tf.one_hot(ids, 3) - 1.0, lambda t, z: 1.0 + t * tf.square(z), 0),  # a distance
    ],
)
def test_a_hinge_of_the_other_sign_of_one_hot_codes_is_named(codes, margin, count):
    def total():
        scores = tf.nn.bias_add(minimized.fed("x", 8, 4) @ minimized.variable("w", 4, 3), minimized.variable("b", 3))
        ids = minimized.fed("ids", 8, dtype=tf.int32)
        return tf.reduce_mean(tf.reduce_sum(tf.maximum(0.0, margin(codes(ids), scores)), 1))

    assert minimized.found(reversed_hinges, total) == ["HINGE_REVERSED"] * count


def test_an_activation_of_a_layer_is_no_hinge():
    def total():
        h = tf.nn.relu(1.0 + minimized.fed("scale", 8, 1) * (minimized.fed("x", 8, 4) @ minimized.variable("w", 4, 3)))
        return tf.reduce_mean(tf.square(h @ minimized.variable("u", 3, 1) - 1.0))

    assert minimized.found(reversed_hinges, total) == []


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda near, far: tf.maximum(near - far - 0.2, 0.0), 1),
        (lambda near, far: tf.nn.relu(-0.2 + (near - far)), 1),
        (lambda near, far: tf.maximum(near - far + 0.2, 0.0), 0),
        (lambda near, far: tf.maximum(near - far, 0.0), 0),
        (lambda near, far: tf.maximum(near - 0.2, 0.0), 0),  # of one distance
        (lambda near, far: tf.minimum(near - far - 0.2, 0.0), 0),
    ],
)
def test_a_margin_that_is_subtracted_is_named(loss, count):
    def total():
        w = minimized.variable("w", 4, 3)
        a, b, c = (minimized.fed(name, 8, 4) @ w for name in ("a", "b", "c"))
        return tf.reduce_mean(loss(distance(a, b), distance(a, c)))

    assert minimized.found(negative_margins, total) == ["MARGIN_NEGATIVE"] * count
