"""Sentences on weights that decay behind the combining of their gradients."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.decoupled_decay import decay_sentences, factor_of_weight
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.variants.programs import gradient_of, split_batch, towers, weights

v1 = tf.compat.v1


def sentences(change, in_tower=lambda g, w, tower: g):
    """The sentences on a program whose combined gradient `change(gradient, weight)` makes the update of.

    `in_tower(gradient, weight, tower)` is what a tower hands to the combining.
    """

    def build():
        xs = split_batch()
        gradients = towers(lambda tower: in_tower(gradient_of(xs[tower]), weights(), tower))
        update = change(tf.reduce_mean(tf.stack(gradients), axis=0), weights())
        v1.assign_sub(weights(), 0.1 * update, name="train")

    found = AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["net/w"]), "x", ["train"]))
    return [text for phase in found.phases for text in decay_sentences(found, phase)]


@pytest.mark.parametrize("change", [lambda g, w: g + 0.01 * w, lambda g, w: tf.sign(g) + w * 0.01])
def test_a_multiple_of_the_weight_beside_its_combined_gradient(change):
    expected = "where 0.01 times the weight is added behind the combining of gradients: net/w"
    assert sentences(change) == ["train: 1 weight decays in its update, " + expected]


@pytest.mark.parametrize(
    "in_tower",
    [lambda g, w, tower: g + 0.01 * w, lambda g, w, tower: w * 0.01 + g],
)
def test_a_multiple_of_the_weight_beside_each_towers_gradient(in_tower):
    expected = "where 0.01 times the weight is added to each tower's gradient: net/w"
    assert sentences(lambda g, w: g, in_tower) == ["train: 1 weight decays in its update, " + expected]


@pytest.mark.parametrize(
    "in_tower",
    [
        lambda g, w, tower: g + tf.gradients(0.01 * tf.nn.l2_loss(w), [w])[0],  # a penalty
        lambda g, w, tower: g + 0.01 * w if tower else g,
        lambda g, w, tower: g + (1 + tower) * 0.01 * w,
        lambda g, w, tower: g + 0.01 * tf.ones_like(w),
    ],
)
def test_penalties_and_what_one_tower_adds_are_no_decay_of_each_tower(in_tower):
    assert sentences(lambda g, w: g, in_tower) == []


@pytest.mark.parametrize(
    "change",
    [lambda g, w: g, lambda g, w: g + 0.01 * tf.ones_like(w), lambda g, w: g * (1.0 + 0.01 * w)],
)
def test_other_updates_do_not_decay_their_weight(change):
    assert sentences(change) == []


@pytest.mark.parametrize(
    "assign, value, factor",
    [
        (v1.assign, lambda w: w * 0.99, 0.99),
        (v1.assign, lambda w: tf.identity(0.99 * w.read_value()), 0.99),
        (v1.assign, lambda w: w * w, None),
        (v1.assign, lambda w: tf.zeros_like(w) * 0.99, None),
        (v1.assign, lambda w: tf.clip_by_value(w, -1.0, 1.0), None),
        (v1.assign_sub, lambda w: w * 0.01, 0.99),
        (v1.assign_sub, lambda w: tf.zeros_like(w) + 0.01, None),
        (v1.assign_add, lambda w: w * 0.01, None),
    ],
)
def test_the_constant_that_an_assignment_multiplies_its_weight_by(assign, value, factor):
    def build():
        xs = split_batch()
        gradients = towers(lambda tower: gradient_of(xs[tower]))
        update = v1.assign_sub(weights(), 0.1 * tf.add_n(gradients) / 2.0)
        with tf.control_dependencies([update]):
            tf.group(assign(weights(), value(weights()), name="decay"), name="train")

    found = AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["net/w"]), "x", ["train"]))
    (effect,) = [effect for phase in found.phases for effect in phase.effects if effect.node == "decay"]
    assert factor_of_weight(found, effect) == (None if factor is None else pytest.approx(factor))
