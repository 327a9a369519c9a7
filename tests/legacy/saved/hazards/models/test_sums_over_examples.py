"""Mixtures whose components are summed, beside sums over the examples."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.models.sums_over_examples import likelihoods_over_examples
from tests.legacy.saved.hazards.minimized import fed, found_by_analysis, variable


@pytest.mark.parametrize(
    "axis, pairs, count",
    [(0, False, 1), (1, False, 0), (0, True, 0), (None, False, 0)],
)
def test_a_sum_of_likelihoods_along_the_examples_is_named(axis, pairs, count):
    def total():
        h = fed("x", 8, 4) @ variable("w", 4, 5)
        scores = tf.matmul(h, h, transpose_b=True) if pairs else h
        return -tf.reduce_mean(tf.reduce_logsumexp(scores - tf.square(scores), axis))

    assert found_by_analysis(likelihoods_over_examples, total) == ["SUM_OVER_EXAMPLES"] * count
