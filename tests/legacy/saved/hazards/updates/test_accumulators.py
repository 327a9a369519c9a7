"""Gradients that runs add up for another run's update: reset or not, added or assigned."""

import pytest
import tensorflow as tf

from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.hazards.updates.accumulators import kept_gradients
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(adds, resets, divides=True):
    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        total = v1.get_variable("total", [4, 1], use_resource=False, trainable=False)
        gradient = tf.gradients(tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [2, 4], "x") @ w)), [w])[0]
        (v1.assign_add if adds else v1.assign)(total, gradient, name="keep")
        mean = total / 4.0 if divides else tf.identity(total)
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(mean, w)], name="train")
        if resets:
            v1.assign(total, tf.zeros([4, 1]), name="reset")

    return [hazard.id for hazard in kept_gradients(WholeGraph(saved(traced(build), trainable_variables=["w"])))]


@pytest.mark.parametrize(
    "adds, resets, ids",
    [
        (True, True, []),
        (True, False, ["ACCUMULATOR_NEVER_RESET"]),
        (False, True, ["ACCUMULATOR_OVERWRITTEN"]),
        (False, False, ["ACCUMULATOR_OVERWRITTEN"]),
    ],
)
def test_sums_without_a_reset_and_overwritten_gradients_are_named(adds, resets, ids):
    assert found(adds, resets) == ids


def test_rows_that_are_added_are_no_overwritten_gradients():
    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        total = v1.get_variable("total", [4, 1], use_resource=False, trainable=False)
        rows = tf.gradients(tf.reduce_mean(tf.square(tf.gather(w, v1.placeholder(tf.int32, [2], "ids")))), [w])[0]
        v1.scatter_add(total, rows.indices, rows.values, name="keep")
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(total / 4.0, w)], name="train")
        v1.assign(total, tf.zeros([4, 1]), name="reset")

    assert not list(kept_gradients(WholeGraph(saved(traced(build), trainable_variables=["w"]))))


def test_gradients_of_the_run_before_are_not_accused():
    assert found(adds=False, resets=False, divides=False) == []
