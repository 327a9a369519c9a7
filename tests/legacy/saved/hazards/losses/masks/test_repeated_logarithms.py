"""Cross entropies by hand, whole and with a parenthesis that is closed too early."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.losses.masks.repeated_logarithms import repeated_logarithms
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def log(p):
    return tf.math.log(tf.maximum(p, 1e-15))


def closed_early(y, p, near, far):
    return near * (-y * log(p)) - (1.0 - y) * log(1.0 - p) + far * (-y * log(p)) - (1.0 - y) * log(1.0 - p)


def masked(y, p, near, far):
    of_near = near * (-y * log(p) - (1.0 - y) * log(1.0 - p))
    return of_near + far * (-y * log(p) - (1.0 - y) * log(1.0 - p))


def of_two_results(y, p, near, far):
    other = tf.sigmoid(tf.math.log(near + 2.0) * p)
    return -y * log(p) - (1.0 - y) * log(1.0 - p) - y * log(other) - (1.0 - y) * log(1.0 - other)


def twice(y, p, near, far):
    entropy = -y * log(p) - (1.0 - y) * log(1.0 - p)
    return 2.0 * entropy + near * entropy


def both_ways(y, p, near, far):
    """The divergences of two distributions from each other."""
    other = 0.5 * (p + near)
    return p * log(p) - p * log(other) + other * log(other) - other * log(p)


@pytest.mark.parametrize(
    "loss, count",
    [
        (closed_early, 1),
        (lambda *given: 0.5 * tf.abs(given[0] - given[1]) * closed_early(*given), 1),
        (masked, 0),
        (of_two_results, 0),
        (twice, 0),
        (both_ways, 0),
        (lambda y, p, near, far: near * (y - p) + far * p + near * (y - p) - y * log(p), 0),
    ],
)
def test_a_term_of_a_cross_entropy_that_is_added_twice_is_named(loss, count):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        y, near, far = (v1.placeholder(tf.float32, [2, 3], name) for name in ("y", "near", "far"))
        p = tf.sigmoid(v1.placeholder(tf.float32, [2, 4], "x") @ w)
        total = tf.reduce_mean(tf.reduce_sum(loss(y, p, near, far), 1))
        v1.train.GradientDescentOptimizer(0.5).minimize(total, name="train")

    found = repeated_logarithms(WholeGraph(saved(traced(build), trainable_variables=["w"])))
    assert [hazard.id for hazard in found] == ["TERM_REPEATED"] * count
