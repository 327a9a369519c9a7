"""Sentences of the page on towers: sums from 0, one tower's gradients, another tower's norm, other data."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.program_facts import program_facts
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.variants.programs import apply, gradient_of, split_batch, towers, weights

v1 = tf.compat.v1


def facts(combine):
    """The facts of a program that applies what `combine` makes of its towers' gradients."""

    def build():
        parts = split_batch()
        combine(towers(lambda tower: gradient_of(parts[tower])))

    graph = saved(traced(build), trainable_variables=["net/w"])
    return program_facts(graph, analyse_graph(graph, "made-for-a-test"))


def test_a_sum_that_begins_at_zero_leaves_the_towers_equal():
    found = facts(lambda gradients: apply(sum(gradients) / 2.0))
    assert {"what": "symmetry", "is": "equal, op by op"} in found["towers"]


def test_one_towers_gradients_are_not_said_to_be_applied_by_all():
    def loss(x):
        v = v1.get_variable("v", [2], use_resource=False)
        return tf.reduce_mean(tf.tanh(tf.matmul(x, weights())) * v), v

    def build():
        parts, gradients = split_batch(), []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), v1.variable_scope("", reuse=tower > 0), v1.name_scope(f"tower_{tower}"):
                value, v = loss(parts[tower])
                gradients.append(tf.gradients(value, [weights(), v]))
        pairs = [((gradients[0][0] + gradients[1][0]) / 2.0, weights()), (gradients[1][1], v)]
        v1.train.GradientDescentOptimizer(0.5).apply_gradients(pairs)

    graph = saved(traced(build), trainable_variables=["net/w", "v"])
    texts = str(program_facts(graph, analyse_graph(graph, "made-for-a-test"))["watch"])
    assert "gradients of tower 1 alone are applied besides the combined ones to v" in texts or (
        "gradients of tower 1 alone are applied to v" in texts
    ), texts


@pytest.mark.parametrize("of_first, text", [(True, "by the global norm of tower 0's gradients"), (False, "by ")])
def test_the_tower_of_a_norm_is_named(of_first, text):
    def combine(gradients):
        mean = tf.add_n(gradients) / 2.0
        norm = tf.linalg.global_norm([gradients[0], gradients[0]] if of_first else [mean, weights()])
        apply(tf.clip_by_global_norm([mean, weights()], 0.5, use_norm=norm)[0][0])

    (row,) = facts(combine)["combining"]
    assert row["clipped"].startswith("after combining, " + text) and ("tower 0" in row["clipped"]) == of_first
