"""Accuracies of a pass with dropout of its own; twins whose pass trains, drops nothing, or is a mean of several."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.training.dropout_in_evaluation import dropout_in_evaluation
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def of_1_4(x, keep):
    return v1.div(x, keep) * tf.floor(keep + v1.random_uniform([2, 4]))


def of_1_15(x, keep):
    return x * (1 / keep) * tf.cast(v1.random_uniform([2, 4]) >= 1 - keep, tf.float32)


def hazards(drop=of_1_15, evaluates=0.5, passes=1, compares="labels", keep=0.5):
    """Hazards of a classifier with an accuracy.

    Args:
      drop: (layer, share that is kept) -> the layer with dropout.
      evaluates: what the pass of the accuracy keeps: a number, "fed", "switched"; or "trained", the pass that trains.
      passes: how many are averaged for the accuracy.
      compares: what its classes are compared with, "labels" or "classes" of the pass that trains.
      keep: what the pass that trains keeps.
    """

    def build():
        w, head = (v1.get_variable(name, shape, use_resource=False) for name, shape in (("w", [4, 4]), ("v", [4, 3])))
        x, labels = v1.placeholder(tf.float32, [2, 4], "x"), v1.placeholder(tf.int64, [2], "labels")
        is_training = v1.placeholder(tf.bool, [], "is_training")

        def logits(kept):
            layer = tf.nn.relu(x @ w)
            if kept == "switched":
                layer = v1.cond(is_training, lambda: drop(layer, 0.5), lambda: tf.identity(layer))
            elif kept:
                layer = drop(layer, v1.placeholder(tf.float32, [], "keep") if kept == "fed" else kept)
            return layer @ head

        trained = logits(keep)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=trained))
        own = [trained if evaluates == "trained" else logits(evaluates) for _ in range(passes)]
        classes = tf.argmax(tf.add_n(own) / passes, 1)
        truth = labels if compares == "labels" else tf.argmax(trained, 1)
        tf.reduce_mean(tf.cast(tf.equal(classes, truth), tf.float32), name="accuracy")
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    return list(dropout_in_evaluation(WholeGraph(saved(traced(build), trainable_variables=["w", "v"]))))


@pytest.mark.parametrize("drop", [of_1_4, of_1_15])
def test_an_accuracy_of_a_pass_of_its_own_with_dropout_is_named(drop):
    (hazard,) = hazards(drop)
    assert hazard.id == "DROPOUT_IN_EVALUATION" and "no loss depends on that pass" in hazard.description


@pytest.mark.parametrize(
    "other",
    [
        {"evaluates": "trained"},
        {"evaluates": 0.0},
        {"evaluates": "fed"},
        {"evaluates": "switched"},
        {"passes": 3},
        {"compares": "classes"},
        {"keep": 0.0},
    ],
)
@pytest.mark.parametrize("drop", [of_1_4, of_1_15])
def test_an_accuracy_of_the_pass_that_trains_or_without_dropout_or_of_a_mean_is_not(drop, other):
    assert hazards(drop, **other) == []
