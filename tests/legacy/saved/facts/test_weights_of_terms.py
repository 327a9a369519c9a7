"""Weights of terms that follow the step, or that are 0, beside other constants and weights of data."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.weights_of_terms import weight_sentence
from tests.legacy.saved.facts.tower_pages import descend, parts, program, sections_of, squares, variable
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def annealed(x):
    return tf.minimum(1.0, tf.cast(v1.train.get_or_create_global_step(), tf.float32) / 100.0)


@pytest.mark.parametrize(
    "weight, text",
    [
        (annealed, "; its weight is a function of global_step"),
        (lambda x: tf.constant(0.5), ""),
        (lambda x: tf.constant(0.0), "; its weight is 0"),
        (lambda x: tf.reduce_mean(tf.abs(x)), ""),
        (lambda x: tf.exp(-variable("s")), ""),
    ],
)
def test_a_weight_that_changes_from_step_to_step_is_told(weight, text):
    def build():
        x = parts("x", 8, 3)
        step = v1.train.get_or_create_global_step()

        def loss(tower):
            second = tf.reduce_mean(tf.abs(tf.matmul(x(tower), variable("v", 3, 1))))
            return tf.add(squares(x(tower)), tf.multiply(weight(x(tower)), second, name="weighted"), name="total")

        def update(pairs):
            v1.train.GradientDescentOptimizer(0.1).apply_gradients(pairs, step, name="train")

        return program(loss, update if weight is annealed else descend)()

    rows = {row["term"]: row["is"] for row in sections_of(build)["losses"]}
    found = [is_ for term, is_ in rows.items() if "its weight" in is_]
    assert found == ([f"depends on data{text}"] if text else [])


def test_a_copy_of_a_weighted_term_is_told_as_well():
    def build():
        step = v1.train.get_or_create_global_step()
        w = v1.get_variable("w", [4, 1], use_resource=False)
        errors = tf.reduce_mean(tf.square(tf.matmul(v1.placeholder(tf.float32, [8, 4], "x"), w)))
        weighted = tf.identity(tf.sqrt(tf.cast(step, tf.float32)) * errors, name="weighted")
        v1.train.GradientDescentOptimizer(0.1).minimize(weighted + 0.1 * tf.nn.l2_loss(w), step, name="train")

    analysed = AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["w"]), "small", ["train"]))
    assert weight_sentence(analysed, "weighted") == "; its weight is a function of global_step"
    assert weight_sentence(analysed, "mul_1") == ""


@pytest.mark.parametrize("rate, text", [(0.0, "; its weight is 0"), (0.01, "")])
def test_a_penalty_of_weight_0_beside_others_is_told(rate, text):
    """As a decay that a helper makes for every layer, and that is switched off for one."""

    def build():
        x = parts("x", 8, 3)

        def loss(tower):
            hidden, last = variable("hidden", 3, 3), variable("last", 3, 1)
            errors = tf.reduce_mean(tf.square(tf.matmul(tf.matmul(x(tower), hidden), last)))
            first = tf.multiply(tf.nn.l2_loss(hidden), rate, name="first")
            return tf.add_n([errors, first, tf.multiply(tf.nn.l2_loss(last), 0.01, name="second")])

        return program(loss)()

    rows = {row["term"]: row["is"] for row in sections_of(build)["losses"]}
    assert rows["tower_0/first"] == f"depends on weights only: a regularizer{text}"
    assert rows["tower_0/second"] == "depends on weights only: a regularizer"
