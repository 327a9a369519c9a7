"""Metrics over the wrong axis, and reports of all towers' losses with a wrong factor, beside clean twins."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.metrics import classes_over_examples, reported_losses
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def whole_of(divisor=2.0, axis=1, with_terms=False):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        halves = tf.split(v1.placeholder(tf.float32, [4, 4], "x"), 2)
        losses, gradients, terms = [], [], []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                logits = tf.add(halves[tower] @ w, 1.0)
                tf.argmax(tf.nn.softmax(logits), axis)
                error = tf.reduce_mean(tf.square(logits), name="loss")
                terms.append(error)
                losses.append(error + 0.5 * tf.nn.l2_loss(w, name="penalty") if with_terms else error)
                gradients.append(tf.gradients(losses[-1], [w])[0])
        v1.summary.scalar("reported", tf.add_n(losses + terms if with_terms else losses) / divisor)
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) / 2.0, w)], name="train")

    return WholeGraph(saved(traced(build), trainable_variables=["w"]))


@pytest.mark.parametrize("divisor, text", [(2.0, None), (1.0, None), (-2.0, None), (4.0, "0.5 times their mean")])
def test_reported_losses_with_another_factor_are_named(divisor, text):
    found = [hazard.description for hazard in reported_losses(whole_of(divisor))]
    assert len(found) == (text is not None) and all(str(text) in entry for entry in found)


def test_a_report_of_losses_and_their_terms_is_no_multiple_of_the_losses():
    (found,) = reported_losses(whole_of(4.0, with_terms=True))
    assert "counts tower_0/loss 1 times, and tower_0/penalty 0.5 times" in found.description
    assert "times their mean" not in found.description


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_classes_over_the_examples_are_named(axis):
    found = [hazard.id for hazard in classes_over_examples(whole_of(axis=axis))]
    assert found == (["CLASS_OVER_EXAMPLES"] if axis == 0 else [])
