"""One loss of all towers that is a sum of theirs, and one that is another function of them."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.joint_losses import is_linear, is_no_sum
from legacy.saved.facts.watch import sentences
from tests.legacy.saved.facts.one_loss import minimized
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "total, linear",
    [
        (lambda losses: tf.add_n(losses) / 2.0, True),
        (lambda losses: tf.reduce_mean(tf.stack(losses)), True),
        (lambda losses: tf.reduce_mean(tf.boolean_mask(losses, ~tf.math.is_nan(losses))), False),
        (lambda losses: v1.Print(tf.add_n(losses), losses), True),
        (lambda losses: tf.reduce_max(tf.stack(losses)), False),
        (lambda losses: tf.sqrt(tf.add_n(losses)), False),
    ],
)
def test_a_function_of_all_towers_losses_is_a_sum_or_not(total, linear):
    step = minimized(total)
    (phase,) = step.phases
    assert phase.shared_loss and (is_linear(step, phase), is_no_sum(step, phase)) == (linear, not linear)
    said = [text for text in sentences(step, [], []) if "no sum is minimized" in text]
    assert len(said) == (not linear)


def test_towers_with_losses_of_their_own_have_no_function_of_all():
    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        gradients = []
        for tower, x in enumerate(tf.split(v1.placeholder(tf.float32, [4, 2], "x"), 2)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients += tf.gradients(tf.reduce_mean(tf.sigmoid(x * w)), [w])
        v1.assign_sub(w, tf.add_n(gradients) / 2.0, name="train")

    step = AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "small", ["train"]))
    assert not any(is_no_sum(step, phase) for phase in step.phases)
