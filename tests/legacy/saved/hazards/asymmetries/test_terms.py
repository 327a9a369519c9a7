"""Terms of losses by hand: focal factors, branches, overlaps, norms, classes and parts; each wrong, and right."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.asymmetries.branches import conditions_without_magnitude
from legacy.saved.hazards.asymmetries.focus import factors_of_one_term, minimized_focal_losses
from legacy.saved.hazards.asymmetries.overlaps_of_logits import overlaps_of_logits
from legacy.saved.hazards.asymmetries.same_classes import labels_of_pairs_exchanged, same_classes_driven_apart
from legacy.saved.hazards.asymmetries.squared_norms import squared_norms_compared
from legacy.saved.hazards.asymmetries.untouched_parts import parts_without_weights
from tests.legacy.saved.hazards.minimized import fed, found, variable


def by_layer(check, loss):
    """The hazards of the mean of `loss`, of a layer's results and labels, [8, 3]."""
    return found(check, lambda: tf.reduce_mean(loss(fed("x", 8, 4) @ variable("w", 4, 3), fed("y", 8, 3))))


def focal(one, other):
    def loss(h, y):
        p = tf.sigmoid(h)
        return -y * one(p) * tf.math.log(p + 1e-7) - 0.5 * (1.0 - y) * other(p) * tf.math.log(1.0 - p + 1e-7)

    return loss


@pytest.mark.parametrize(
    "one, other, count",
    [
        (lambda p: tf.pow(1.0 - p, 2.5), lambda p: tf.pow(1.0 - p, 2.5), 1),
        (lambda p: tf.square(p), lambda p: tf.square(p), 1),
        (lambda p: tf.square(1.0 - p), lambda p: tf.square(p), 0),
        (lambda p: tf.square(1.0 - p), lambda p: 1.0, 0),
    ],
)
def test_a_focal_factor_of_the_other_term_is_named(one, other, count):
    assert by_layer(factors_of_one_term, focal(one, other)) == ["FOCUS_ON_EASY_EXAMPLES"] * count


def chosen(h, y):
    """Of each number, the probability of what its label says."""
    p = tf.sigmoid(h)
    return tf.where(tf.equal(y, 1.0), p, 1.0 - p)


def of_chosen(h, y):
    p = chosen(h, y)
    return 0.25 * (1.0 - p) ** 2 * tf.math.log(p + 1e-7)


@pytest.mark.parametrize("power, count", [(lambda p: p**2, 1), (lambda p: (1.0 - p) ** 2, 0)])
def test_so_is_that_of_the_probability_of_what_is_right(power, count):
    def loss(h, y):
        p = chosen(h, y)
        return -power(p) * tf.math.log(tf.clip_by_value(p, 1e-7, 1.0))

    assert by_layer(factors_of_one_term, loss) == ["FOCUS_ON_EASY_EXAMPLES"] * count


def of_both_sides(h, y):
    p, there = tf.clip_by_value(tf.sigmoid(h), 1e-4, 1.0 - 1e-4), tf.cast(tf.equal(y, 1.0), tf.float32)
    positive = tf.math.log(p) * (1.0 - p) ** 2 * there
    return positive + tf.math.log(1.0 - p) * p**2 * (1.0 - y) ** 4 * (1.0 - there)


@pytest.mark.parametrize(
    "loss, count",
    [
        (of_chosen, 1),
        (lambda h, y: -of_chosen(h, y), 0),
        (of_both_sides, 1),
        (lambda h, y: -of_both_sides(h, y), 0),
        (lambda h, y: tf.sigmoid(h) * tf.math.log(tf.sigmoid(h) + 1e-7), 0),  # an entropy, which may be raised
        (lambda h, y: tf.square(h) + tf.stop_gradient(of_both_sides(h, y)), 0),
        (lambda h, y: fed("advantage", 8, 1) * of_both_sides(h, y), 0),  # of either sign
    ],
)
def test_a_focal_loss_without_its_sign_is_named(loss, count):
    assert by_layer(minimized_focal_losses, loss) == ["LIKELIHOOD_MINIMIZED"] * count


@pytest.mark.parametrize("square", [tf.square, lambda d: 0.5 * d * d])
@pytest.mark.parametrize("size, count", [(tf.identity, 1), (tf.abs, 0)])
def test_a_condition_without_a_magnitude_is_named(size, count, square):
    def loss(h, y):
        d = h - y
        small = tf.cast(size(d) < 1.0, tf.float32)
        return small * 0.5 * square(d) + (1.0 - small) * (tf.abs(d) - 0.5)

    assert by_layer(conditions_without_magnitude, loss) == ["CONDITION_WITHOUT_MAGNITUDE"] * count


@pytest.mark.parametrize(
    "activate, count",
    [
        (lambda h: h, 1),
        (lambda h: h + variable("bias", 1), 1),
        (lambda h: h + 1.0, 0),
        (tf.sigmoid, 0),
        (tf.nn.relu, 0),
    ],
)
def test_an_overlap_of_logits_is_named(activate, count):
    def loss(h, y):
        p = activate(h)
        return 1.0 - (2.0 * tf.reduce_sum(p * y) + 1.0) / (tf.reduce_sum(p) + tf.reduce_sum(y) + 1.0)

    assert by_layer(overlaps_of_logits, loss) == ["OVERLAP_OF_LOGITS"] * count


@pytest.mark.parametrize("root, target, count", [(tf.identity, 1.0, 1), (tf.sqrt, 1.0, 0), (tf.identity, 0.0, 0)])
def test_a_penalty_of_a_squared_norm_is_named(root, target, count):
    def loss():
        x = fed("x", 8, 4)
        slopes = tf.gradients(tf.nn.softplus(x @ variable("w", 4, 3)) @ variable("v", 3, 1), [x])[0]
        norms = root(tf.reduce_sum(tf.square(slopes), 1))
        return tf.reduce_mean(tf.square(norms - target) if target else norms)

    assert found(squared_norms_compared, loss) == ["NORM_WITHOUT_ROOT"] * count


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda d, same, other: tf.reduce_min(d + 9.0 * same, 1) - tf.reduce_max(same * d, 1), 1),
        (lambda d, same, other: tf.reduce_max(same * d, 1) - tf.reduce_min(d + 9.0 * same, 1), 0),
        (lambda d, same, other: tf.reduce_sum(other * d, 1) - tf.reduce_sum(same * d, 1), 1),
        (lambda d, same, other: tf.reduce_sum(same * d, 1) - tf.reduce_sum(other * d, 1), 0),
    ],
)
def test_a_class_that_is_driven_apart_is_named(loss, count):
    def total():
        e, labels = fed("x", 8, 4) @ variable("w", 4, 3), fed("labels", 8, dtype=tf.int32)
        distances = tf.sqrt(tf.reduce_sum(tf.square(e[:, tf.newaxis] - e[tf.newaxis]), 2) + 1e-6)
        same = tf.cast(tf.equal(labels[:, tf.newaxis], tf.expand_dims(labels, 0)), tf.float32)
        return tf.reduce_mean(tf.maximum(loss(distances, same, 1.0 - same) + 0.3, 0.0))

    assert found(same_classes_driven_apart, total) == ["SAME_CLASS_DRIVEN_APART"] * count


@pytest.mark.parametrize("flips, count", [((False, False), 1), ((False, True), 0)])
def test_a_half_that_no_coupling_changes_is_named(flips, count):
    def total():
        h = fed("x", 8, 4)
        for layer, flip in enumerate(flips):
            a, b = tf.split(h, 2, 1)
            a, b = (b, a) if flip else (a, b)
            b = b - tf.tanh(a @ variable(f"w{layer}", 2, 2))
            h = tf.concat([b, a] if flip else [a, b], 1)
        return tf.reduce_mean(tf.square(h))

    assert found(parts_without_weights, total) == ["PART_WITHOUT_WEIGHTS"] * count


def contrastive(y, d):
    return y * d + (1.0 - y) * tf.square(tf.maximum(0.0, 1.0 - tf.sqrt(d + 1e-6)))


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda same, d: contrastive(1.0 - same, d), 1),
        (lambda same, d: same * tf.maximum(0.0, 1.0 - d), 1),
        (lambda same, d: contrastive(same, d), 0),
        (lambda same, d: -contrastive(1.0 - same, d), 0),
        (lambda same, d: contrastive(tf.cast(tf.logical_not(same > 0.5), tf.float32), d), 0),  # not read
        (lambda same, d: contrastive(fed("different", 8), d), 0),  # not known
    ],
)
@pytest.mark.parametrize("compare", [tf.equal, lambda a, b: tf.logical_not(tf.not_equal(a, b))])
def test_a_hinge_of_pairs_with_equal_labels_is_named(loss, count, compare):
    def total():
        w = variable("w", 4, 3)
        d = tf.reduce_sum(tf.square(fed("a", 8, 4) @ w - fed("b", 8, 4) @ w), 1)
        labels = [fed(name, 8, dtype=tf.int32) for name in ("first", "second")]
        return tf.reduce_mean(loss(tf.cast(compare(*labels), tf.float32), d))

    assert found(labels_of_pairs_exchanged, total) == ["SAME_CLASS_DRIVEN_APART"] * count


@pytest.mark.parametrize("sign, count", [(1.0, 0), (-1.0, 1)])
def test_distances_that_a_where_keeps_are_of_one_class(sign, count):
    def total():
        labels, x = fed("labels", 8, dtype=tf.int32), fed("x", 8, 4) @ variable("w", 4, 3)
        distances = tf.sqrt(tf.reduce_sum((x[:, tf.newaxis] - x[tf.newaxis]) ** 2, 2) + 1e-12)
        same = tf.equal(labels[:, tf.newaxis], labels[tf.newaxis])
        near = tf.reduce_max(tf.where(same, distances, tf.zeros_like(distances)), 1)
        far = tf.reduce_min(tf.where(same, 1e3 * tf.ones_like(distances), distances), 1)
        return tf.reduce_mean(tf.nn.softplus(sign * (near - far)))

    assert found(same_classes_driven_apart, total) == ["SAME_CLASS_DRIVEN_APART"] * count
