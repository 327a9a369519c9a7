"""Signs of the terms of a loss, through sums, means and multiples."""

import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.linear_signs import linear_signs
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def test_signs_follow_sums_means_and_multiples_and_are_0_where_two_ways_differ():
    def build():
        a, b, c, d = (v1.placeholder(tf.float32, [4], name) for name in "abcd")
        total = tf.reduce_mean(a) - 0.5 * tf.reduce_sum(b) - tf.reduce_mean(-2.0 * c) + tf.reduce_sum(tf.square(d))
        tf.identity(total + tf.reduce_sum(a - a * 1.0), name="loss")

    signs = linear_signs(WholeGraph(saved(traced(build))), "loss")
    assert (signs["b"], signs["c"], signs["a"]) == (-1, 1, 0) and "d" not in signs
