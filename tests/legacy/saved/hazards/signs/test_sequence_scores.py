"""Chains of labels, as of a CRF, whose likelihood is minimized, and raised."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.signs.sequence_scores import minimized_chains
from tests.legacy.saved.hazards.minimized import fed, found, variable
from tests.legacy.source.conditional import with_old_cond

v1 = tf.compat.v1
TIMES, CLASSES = 5, 3


def likelihood(empty=False):
    """The log-likelihood of four sequences of labels, by scores of classes and of transitions."""
    labels, mask = fed("labels", 4, TIMES, dtype=tf.int32), fed("mask", 4, TIMES)
    scores = tf.reshape(fed("x", 4 * TIMES, 6) @ variable("w", 6, CLASSES), [4, TIMES, CLASSES])
    moves = variable("moves", CLASSES, CLASSES)
    places = tf.reshape(labels, [-1]) + CLASSES * tf.range(4 * TIMES)
    own = tf.reshape(tf.gather(tf.reshape(scores, [-1]), places), [4, TIMES])
    pairs = tf.gather(tf.reshape(moves, [-1]), labels[:, :-1] * CLASSES + labels[:, 1:])
    score = tf.reduce_sum(own * mask, 1) + tf.reduce_sum(pairs * mask[:, 1:], 1)

    def step(time, alphas):
        added = tf.reduce_logsumexp(tf.expand_dims(alphas, 2) + moves[None], 1)
        return time + 1, added + scores[:, time]

    _, alphas = v1.while_loop(lambda time, _: time < TIMES, step, [1, scores[:, 0]])
    norm = tf.reduce_logsumexp(alphas, 1)
    if empty:
        norm = tf.where(tf.reduce_sum(mask, 1) < 0.5, tf.zeros_like(norm), norm)
    return score - norm


@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("sign, count", [(1.0, 1), (-1.0, 0)])
def test_a_likelihood_of_a_chain_that_is_minimized_is_named(empty, sign, count):
    check = with_old_cond(lambda: found(minimized_chains, lambda: tf.reduce_mean(sign * likelihood(empty))))
    assert check() == ["LIKELIHOOD_MINIMIZED"] * count


def test_a_norm_without_a_score_of_labels_is_not_accused():
    """As of a model of energies, whose free energy is lowered for the examples."""

    def free_energy():
        start = fed("x", 4, 6) @ variable("w", 6, CLASSES)
        moves = variable("moves", CLASSES, CLASSES)

        def step(time, alphas):
            return time + 1, tf.reduce_logsumexp(tf.expand_dims(alphas, 2) + moves[None], 1)

        _, alphas = v1.while_loop(lambda time, _: time < TIMES, step, [1, start])
        return tf.reduce_mean(tf.square(start)) - tf.reduce_mean(tf.reduce_logsumexp(alphas, 1))

    assert not with_old_cond(lambda: found(minimized_chains, free_energy))()


def test_a_choice_between_constants_is_no_logarithm_of_a_sum():
    """As `tf.reduce_logsumexp` of 1.x chooses a largest number that is finite."""

    def summed():
        scores = fed("x", 4, 6) @ variable("w", 6, CLASSES)
        most = tf.reduce_max(scores, 1, keepdims=True)
        most = tf.where(tf.math.is_finite(most), most, v1.zeros_like(most, optimize=False))
        return tf.reduce_mean(tf.math.log(tf.reduce_sum(tf.exp(scores - most), 1, keepdims=True)) + most)

    assert found(minimized_chains, summed) == []
    assert found(minimized_chains, lambda: -summed()) == []
