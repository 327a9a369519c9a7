"""Sentences on weights that decay behind the combining of their gradients."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.facts.updates.decoupled_decay import decay_sentences, factor_of_weight
from legacy.saved.facts.watch import sentences as sentences_of_step
from legacy.saved.hazards.updates.twice import updated_twice
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
        (v1.assign_add, lambda w: w * -0.01, 0.99),
        (v1.assign_add, lambda w: w * w, None),
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
    assert factor_of_weight(found.context, effect) == (None if factor is None else pytest.approx(factor))


@pytest.mark.parametrize(
    "scatter, value, factor",
    [
        (v1.scatter_add, lambda w, rows: -0.01 * tf.gather(w, rows), 0.99),
        (v1.scatter_sub, lambda w, rows: 0.01 * tf.gather(w, rows), 0.99),
        (v1.scatter_update, lambda w, rows: tf.gather(w, rows) * 0.99, 0.99),
        (v1.scatter_sub, lambda w, rows: 0.01 * tf.gather(w, tf.reverse(rows, [0])), None),  # other rows
        (v1.scatter_sub, lambda w, rows: 0.01 * tf.gather(2.0 * w, rows), None),
    ],
)
def test_rows_that_decay_beside_their_update(scatter, value, factor):
    """As by the optimizers with weight decay of TensorFlow 1.15's contrib: rows decay that have a gradient."""

    def build():
        table = v1.get_variable("table", [5, 3], use_resource=False)
        words = tf.split(v1.placeholder(tf.int32, [8], "words"), 2)
        slices = towers(lambda tower: tf.gradients(tf.reduce_sum(tf.gather(table, words[tower]) ** 2), [table])[0])
        rows, values = (tf.concat([getattr(one, part) for one in slices], 0) for part in ("indices", "values"))
        with tf.control_dependencies([scatter(table, rows, value(table, rows), name="decay")]):
            v1.scatter_sub(table, rows, 0.1 * values, name="train")

    graph = saved(traced(build), trainable_variables=["table"])
    analysis = analyse_graph(graph, "x", ["train"])
    found = AnalysedStep(analysis)
    (effect,) = [effect for phase in found.phases for effect in phase.effects if effect.node == "decay"]
    assert factor_of_weight(found.context, effect) == (None if factor is None else pytest.approx(factor))
    texts = [text for text in sentences_of_step(found, [], []) if "0.01" in text or "0.99" in text]
    hazards = list(updated_twice(WholeGraph(graph, analysis), analysis))
    if factor is not None:
        assert texts == [
            "train: 1 weight is multiplied by 0.99 in the rows that have a gradient besides its update: table"
        ]
        assert not hazards
