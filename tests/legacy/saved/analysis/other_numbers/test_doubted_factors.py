"""Constants on losses and gradients that may follow the number of towers."""

import pytest
import tensorflow as tf

from tests.legacy.saved.analysis.other_numbers.built import (
    BATCH,
    assert_as_built,
    assert_own_number,
    in_towers,
    parts,
    results,
    trained,
    variable,
)

OWN = "the losses' factor of 0.5 may be one over the towers, or one of their own"


def program(make_loss, combine):
    """A program of losses `make_loss(x, towers)`, whose gradients `combine(gradients)` combines."""

    def build(towers):
        xs = parts(towers)
        losses = in_towers(towers, lambda tower: make_loss(xs[tower], towers))
        return trained(losses, combine)

    return build


def half_of_squares(x, towers):
    return 0.5 * tf.reduce_mean(results(x) ** 2)


def entropy(x, divisor=1):
    labels = tf.tile([[0.25, 0.75]], [BATCH, 1])
    logits = tf.matmul(x, variable("w", [3, 2]))
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)) / divisor


def mean(gradients):
    return tf.add_n(gradients) / len(gradients)


def maximized(x, factor):
    return factor * tf.reduce_mean(tf.math.log_sigmoid(results(x)))


def test_a_half_of_squares_that_are_added_up_fixes_the_number(tmp_path):
    assert_own_number(program(half_of_squares, tf.add_n), OWN, tmp_path)


def test_a_half_that_is_maximized_fixes_the_number_too(tmp_path):
    own = OWN.replace("0.5", "-0.5")
    assert_own_number(program(lambda x, towers: maximized(x, -0.5), tf.add_n), own, tmp_path)


@pytest.mark.parametrize(
    "make_loss, combine",
    [
        (half_of_squares, mean),
        (entropy, tf.add_n),
        (lambda x, towers: entropy(x, towers), tf.add_n),
        (lambda x, towers: tf.reduce_sum(results(x) ** 2) / (towers * BATCH), tf.add_n),
        (lambda x, towers: maximized(x, -1.0) / towers, tf.add_n),
        (lambda x, towers: maximized(x, -0.7), tf.add_n),
    ],
)
def test_other_factors_follow_the_number_or_do_not(make_loss, combine, tmp_path):
    make = (lambda x, towers: make_loss(x)) if make_loss is entropy else make_loss
    assert_as_built(program(make, combine), tmp_path)


@pytest.mark.parametrize(
    "make_loss",
    [
        lambda x, towers: entropy(x, 2),
        lambda x, towers: tf.reduce_sum(results(x) ** 2) / (2 * BATCH),
    ],
)
def test_a_constant_beside_a_mean_of_gradients_stays(make_loss, tmp_path):
    """As that of a loss which two towers divide once more."""
    assert_as_built(program(make_loss, mean), tmp_path)


def shared(total):
    """A program that differentiates one loss of all towers, `total(losses, penalty)`."""

    def build(towers):
        xs, w = parts(towers), variable("w", [3, 2])
        losses = in_towers(towers, lambda tower: entropy(xs[tower]))
        loss = total(losses, 0.1 * tf.nn.l2_loss(w))
        return tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=[w], name="train")

    return build


def test_a_penalty_that_is_divided_with_all_losses_fixes_the_number(tmp_path):
    reason = "a penalty is added to all towers' losses, and their number divides the sum"
    assert_own_number(shared(lambda losses, penalty: (tf.add_n(losses) + penalty) / len(losses)), reason, tmp_path)


@pytest.mark.parametrize(
    "total",
    [
        lambda losses, penalty: tf.add_n(losses) / len(losses) + penalty,
        lambda losses, penalty: tf.add_n(losses) + penalty / 2.0,
        lambda losses, penalty: tf.add_n(losses) / len(losses),
    ],
)
def test_a_penalty_beside_the_mean_does_not(total, tmp_path):
    assert_as_built(shared(total), tmp_path)


def clipped(gradient, norm):
    return tf.clip_by_norm(gradient, norm)


@pytest.mark.parametrize(
    "combine, reason",
    [
        (
            lambda gradients: clipped(tf.add_n(gradients), 0.3) / len(gradients),
            "gradients are added up, and multiplied by 0.5 behind another op, clip_by_norm/truediv (RealDiv)",
        ),
        (
            lambda gradients: tf.add(tf.add_n(gradients), 0.1 * variable("w", [3, 2]), name="decayed") / len(gradients),
            "gradients are added up, and multiplied by 0.5 behind another op, decayed (AddV2)",
        ),
        (
            lambda gradients: tf.add_n(gradients) / float(len(gradients)) ** 0.5,
            "gradients are added up and multiplied by 0.707107, one over the root of the towers",
        ),
    ],
)
def test_a_sum_that_is_divided_late_or_by_a_root_fixes_the_number(combine, reason, tmp_path):
    assert_own_number(program(lambda x, towers: entropy(x), combine), reason, tmp_path)


@pytest.mark.parametrize(
    "combine",
    [
        lambda gradients: clipped(tf.add_n(gradients), 0.5),
        lambda gradients: clipped(mean(gradients), 0.5) * 0.5,
        lambda gradients: mean([clipped(gradient, 0.1) for gradient in gradients]),
    ],
)
def test_clipping_of_the_sum_or_of_the_mean_runs_at_any_number(combine, tmp_path):
    assert_as_built(program(lambda x, towers: entropy(x), combine), tmp_path)
