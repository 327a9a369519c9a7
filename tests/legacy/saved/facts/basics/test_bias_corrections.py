"""Learning rates without the corrections of Adam's moments."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.bias_corrections import without_correction
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def quotient(x, y):
    """x / y, as TensorFlow 0.12 writes it."""
    return tf.raw_ops.Div(x=x, y=y, name="corrected")


@pytest.mark.parametrize("divide", [lambda x, y: tf.divide(x, y, name="corrected"), quotient])
@pytest.mark.parametrize("by_count, factor", [(True, "rate:0"), (False, "corrected:0")])
def test_powers_of_a_count_are_corrections_where_the_rule_has_them(by_count, factor, divide):
    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        count = v1.get_variable("count", initializer=0, trainable=False, use_resource=False)
        (gradient,) = tf.gradients(tf.reduce_sum(v1.placeholder(tf.float32, [2], "x") * w), [w])
        rate, steps = tf.constant(0.5, name="rate"), tf.cast(count, tf.float32) + 1.0
        corrected = divide(rate * tf.sqrt(1.0 - 0.75**steps), 1.0 - 0.5**steps)
        with tf.control_dependencies([v1.assign_sub(w, corrected * gradient)]):
            v1.assign_add(count, 1, name="train")

    analysed = AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "g", ["train"]))
    assert without_correction(analysed, "corrected:0", by_count) == factor
