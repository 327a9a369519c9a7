"""Overlaps and smooth L1, each wrong and right."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.losses.overlaps import exchanged_branches, focal_factors, minimized_overlaps
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(check, loss):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        x, y = v1.placeholder(tf.float32, [8, 4], "x"), v1.placeholder(tf.float32, [8, 3], "y")
        v1.train.GradientDescentOptimizer(0.5).minimize(loss(x @ w, y), name="train")

    return [hazard.id for hazard in check(WholeGraph(saved(traced(build), trainable_variables=["w"])))]


def dice(logits, y):
    p = tf.sigmoid(logits)
    return (2.0 * tf.reduce_sum(p * y) + 1.0) / (tf.reduce_sum(p) + tf.reduce_sum(y) + 1.0)


def of_squares(logits, y):
    p = tf.nn.softmax(logits)
    shares = 2.0 * tf.reduce_sum(p * y, 0) / (tf.reduce_sum(p * p, 0) + tf.reduce_sum(y * y, 0) + 1e-6)
    return tf.reduce_mean(shares)


def along_the_first_axis(logits, y):
    """Shares along another axis than the last: 1.x transposes before and behind its softmax."""
    p = tf.transpose(tf.nn.softmax(tf.transpose(logits)))
    return tf.reduce_mean((2.0 * tf.reduce_sum(p * y, 0) + 1.0) / (tf.reduce_sum(p, 0) + tf.reduce_sum(y, 0) + 1.0))


@pytest.mark.parametrize("overlap", [dice, of_squares, along_the_first_axis])
def test_an_overlap_that_is_minimized_is_named(overlap):
    assert found(minimized_overlaps, overlap) == ["OVERLAP_MINIMIZED"]
    assert found(minimized_overlaps, lambda logits, y: 1.0 - overlap(logits, y)) == []
    assert found(minimized_overlaps, lambda logits, y: -overlap(logits, y)) == []


@pytest.mark.parametrize("sign", [1, -1])
def test_the_logarithm_of_an_overlap_that_is_minimized_is_named(sign):
    logarithm = lambda logits, y: sign * tf.math.log(dice(logits, y))  # noqa: E731
    assert found(minimized_overlaps, logarithm) == ["OVERLAP_MINIMIZED"] * (sign > 0)


def test_a_share_that_is_no_overlap_is_not():
    masked = lambda logits, y: tf.reduce_sum(tf.square(logits) * y) / tf.reduce_sum(y)  # noqa: E731
    assert found(minimized_overlaps, masked) == []


def smooth(square, linear, where):
    def loss(x, y):
        e = x - y
        d = tf.abs(e)
        return tf.reduce_mean(where(d < 1.0, square(d, e), linear(d)))

    return loss


@pytest.mark.parametrize("square", [lambda d, e: 0.5 * d * d, lambda d, e: 0.5 * tf.square(e), lambda d, e: d**2 * 0.5])
def test_smooth_l1_with_its_branches_exchanged_is_named(square):
    exchanged = lambda small, squares, others: v1.where(small, others, squares)  # noqa: E731
    assert found(exchanged_branches, smooth(square, lambda d: d - 0.5, exchanged)) == ["BRANCHES_EXCHANGED"]
    assert found(exchanged_branches, smooth(square, lambda d: d - 0.5, v1.where)) == []


def masked_overlap(sign, mask_below=True):
    """A Dice of the pixels that a mask keeps, with a sign."""

    def loss(logits, y):
        p, mask = tf.sigmoid(logits), v1.placeholder(tf.float32, logits.shape, "mask")
        below = tf.reduce_sum(y * mask) + tf.reduce_sum(p * (mask if mask_below else y)) + 1e-5
        return 1.0 + sign * 2.0 * tf.reduce_sum(y * p * mask) / below

    return loss


def test_an_overlap_of_masked_pixels_that_is_minimized_is_named():
    assert found(minimized_overlaps, masked_overlap(1.0)) == ["OVERLAP_MINIMIZED"]
    assert found(minimized_overlaps, masked_overlap(-1.0)) == []


def of_sigmoid(factor):
    def loss(logits, y):
        p = tf.sigmoid(logits)
        entropy = tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits)
        return tf.reduce_mean(factor(y * p + (1.0 - y) * (1.0 - p), p, y, entropy) * entropy)

    return loss


def of_softmax(factor):
    def loss(logits, y):
        p = tf.reduce_sum(tf.nn.softmax(logits) * y, 1)
        entropy = v1.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits)
        return tf.reduce_mean(factor(p, p, y, entropy) * entropy)

    return loss


@pytest.mark.parametrize("of", [of_sigmoid, of_softmax])
@pytest.mark.parametrize(
    "factor, count",
    [
        (lambda share, p, y, entropy: 0.25 * tf.pow(share, 2.0), 1),
        (lambda share, p, y, entropy: tf.exp(-2.0 * entropy), 1),
        (lambda share, p, y, entropy: tf.fill(tf.shape(share), 0.25) * tf.square(share), 1),
        (lambda share, p, y, entropy: tf.fill(tf.shape(share), 0.25) * tf.square(1.0 - share), 0),
        (lambda share, p, y, entropy: 0.25 * tf.pow(1.0 - share, 2.0), 0),
        (lambda share, p, y, entropy: tf.stop_gradient(1.0 - tf.exp(-entropy)), 0),
        (lambda share, p, y, entropy: 1.0 + share, 0),  # less for what is wrong, and not nothing
        (lambda share, p, y, entropy: 2.0, 0),
    ],
)
def test_a_factor_that_is_near_zero_where_the_prediction_is_wrong_is_named(of, factor, count):
    assert found(focal_factors, of(factor)) == ["FOCUS_ON_EASY_EXAMPLES"] * count


def test_a_weight_by_the_distance_from_soft_labels_is_not():
    factor = lambda share, p, y, entropy: tf.abs(p - y) ** 2.0  # noqa: E731
    assert found(focal_factors, of_sigmoid(factor)) == []
