"""Towers that differ: what one has besides stays its own at any number; numbers of each tower fix the number."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.division.tensor_matching import TensorMatch
from legacy.saved.analysis.other_numbers.unlike_towers import Extra, Further, further_towers
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

v1 = tf.compat.v1
UNKNOWN = "the towers differ, and what further ones would be is not known: "


def penalized(has_penalty):
    """A program of which towers have a penalty, given (tower, towers)."""

    def build(towers):
        xs = parts(towers)

        def loss(tower):
            mean = tf.reduce_mean(results(xs[tower]) ** 2)
            return mean + 0.5 * tf.nn.l2_loss(variable("w", [3, 2])) if has_penalty(tower, towers) else mean

        return trained(in_towers(towers, loss))

    return build


def by_tower(make_loss):
    """A program of losses `make_loss(tower, the results on its part)`."""

    def build(towers):
        xs = parts(towers)
        return trained(in_towers(towers, lambda tower: make_loss(tower, results(xs[tower]))))

    return build


def noisy_first(towers):
    xs = parts(towers)

    def loss(tower):
        noise = tf.random.normal([BATCH, 3]) if tower == 0 else 0.0
        return tf.reduce_mean(results(xs[tower] + noise) ** 2)

    return trained(in_towers(towers, loss))


def collected(towers):
    """Each tower adds its penalty to one collection, and all that are there to its loss."""
    xs, penalties = parts(towers), []

    def loss(tower):
        penalties.append(0.1 * tf.nn.l2_loss(variable("w", [3, 2])))
        return tf.add_n([tf.reduce_mean(results(xs[tower]) ** 2), *penalties])

    return trained(in_towers(towers, loss))


@pytest.mark.parametrize("towers, replicas", [(2, 4), (2, 1), (3, 2), (3, 5), (4, 6)])
def test_a_term_of_the_first_tower_is_the_first_replicas(towers, replicas, tmp_path):
    assert_as_built(penalized(lambda tower, towers: tower == 0), tmp_path, towers, replicas)


@pytest.mark.parametrize("towers, replicas", [(2, 4), (3, 2), (3, 5), (4, 6)])
def test_a_term_of_the_last_tower_is_the_last_replicas(towers, replicas, tmp_path):
    assert_as_built(penalized(lambda tower, towers: tower == towers - 1), tmp_path, towers, replicas)


def test_noise_of_the_first_tower_is_the_first_replicas(tmp_path):
    assert_as_built(noisy_first, tmp_path)


@pytest.mark.parametrize(
    "make_loss, text",
    [
        (
            lambda tower, y: (1.0 + tower) * tf.reduce_mean(y**2),
            "tower_0/mul/x (Const, 1) against tower_1/mul/x (Const, 2)",
        ),
        (
            lambda tower, y: tf.reduce_mean((tf.nn.relu if tower % 2 else tf.exp)(y)),
            "tower_0/Exp (Exp) against tower_1/Relu (Relu)",
        ),
        (
            lambda tower, y: tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.fill([BATCH], tower), logits=y)
            ),
            "tower_0/Fill/value (Const, 0) against tower_1/Fill/value (Const, 1)",
        ),
    ],
)
def test_numbers_and_ops_of_each_tower_fix_their_number(make_loss, text, tmp_path):
    assert_own_number(by_tower(make_loss), UNKNOWN + text, tmp_path)


def test_an_offset_of_each_tower_but_the_first_is_no_term_of_the_last_one(tmp_path):
    def loss(tower, y):
        places = tf.range(BATCH) + tower * BATCH if tower else tf.range(BATCH)
        return tf.reduce_mean(y**2 * tf.cast(places, tf.float32)[:, tf.newaxis])

    assert_own_number(by_tower(loss), UNKNOWN + "tower_0/range (Range) against tower_1/add (AddV2)", tmp_path)


def test_terms_that_more_towers_add_to_are_not_the_last_ones_own(tmp_path):
    text = "tower_0/AddN (AddN, N=2) against tower_1/AddN (AddN, N=3)"
    assert_own_number(collected, UNKNOWN + text, tmp_path)


def test_three_towers_of_numbers_each_fix_their_number_and_one_that_differs_does_not(tmp_path):
    text = "tower_0/mul/x (Const, 1) against tower_1/mul/x (Const, 2)"
    build = by_tower(lambda tower, y: (1.0 + tower) * tf.reduce_mean(y**2))
    assert_own_number(build, UNKNOWN + text, tmp_path / "own", 3)
    first = by_tower(lambda tower, y: (2.0 if tower == 0 else 1.0) * tf.reduce_mean(y**2))
    assert_as_built(first, tmp_path, 3, 5)


def test_a_rate_that_follows_one_towers_loss_is_no_difference(tmp_path):
    def build(towers):
        xs, w = parts(towers), variable("w", [3, 2])
        losses = in_towers(towers, lambda tower: tf.reduce_mean(results(xs[tower]) ** 2))
        gradients = [tf.gradients(loss, [w])[0] for loss in losses]
        optimizer = v1.train.GradientDescentOptimizer(0.5 * losses[-1])
        return optimizer.apply_gradients([(tf.add_n(gradients) / towers, w)], name="train")

    assert_as_built(build, tmp_path)


@pytest.mark.parametrize(
    "extra, found",
    [
        (Extra.FIRST, Further()),
        (Extra.OTHER, Further(like_first=True)),
        (Extra.UNKNOWN, Further(unknown="they differ")),
    ],
)
def test_two_towers_tell_of_further_ones_by_the_one_that_has_more(extra, found):
    match = TensorMatch(differences=["they differ"])
    assert further_towers([match], lambda one, two: match, lambda match, towers: extra, None) == found
    assert further_towers([TensorMatch()], lambda one, two: match, lambda match, towers: extra, None) == Further()
