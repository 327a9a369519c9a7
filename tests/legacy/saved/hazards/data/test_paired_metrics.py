"""Accuracies of predictions with the labels of other examples, beside those with their own."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.data.paired_metrics import labels_of_other_predictions
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(tower_of_logits, tower_of_labels, deal, count):
    def build():
        w = v1.get_variable("w", [3, 5], use_resource=False)
        x, y = v1.placeholder(tf.float32, [8, 3], "x"), v1.placeholder(tf.int64, [8], "y")
        logits, gradients = [], []
        labels = [deal(y, tower) for tower in range(2)]
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                logits.append(deal(x, tower) @ w)
                loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels[tower], logits=logits[-1])
                gradients.append(tf.gradients(tf.reduce_mean(loss), [w])[0])
        count(logits[tower_of_logits], labels[tower_of_labels])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) / 2.0, w)], name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    return [(hazard.id, hazard.op) for hazard in labels_of_other_predictions(whole)]


def rows(x, tower):
    return x[tower * 4 : (tower + 1) * 4]


def part(x, tower):
    return tf.split(x, 2)[tower]


def equal(logits, labels):
    tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), labels, name="right"), tf.float32))


def in_top(logits, labels):
    tf.reduce_mean(tf.cast(tf.nn.in_top_k(labels, logits, 1, name="right"), tf.float32))


@pytest.mark.parametrize("count", [equal, in_top])
@pytest.mark.parametrize("deal", [rows, part])
@pytest.mark.parametrize("logits, labels", [(0, 1), (1, 0), (0, 0), (1, 1)])
def test_an_accuracy_with_another_towers_labels_is_named(logits, labels, deal, count):
    hazards = found(logits, labels, deal, count)
    assert [name for name, _ in hazards] == (["INPUTS_NOT_PAIRED"] if logits != labels else [])
    assert all(op.startswith("right") for _, op in hazards)


def test_labels_of_all_towers_are_not_other_ones():
    assert (
        found(0, 0, rows, lambda logits, labels: equal(tf.concat([logits, logits], 0), tf.concat([labels] * 2, 0)))
        == []
    )
