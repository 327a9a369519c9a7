"""Variables that their own initializers set to zeros, and others."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.beginnings import begins_with_zeros
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "initializer, is_zero",
    [
        (v1.zeros_initializer(), True),
        (v1.constant_initializer(0.0), True),
        (v1.ones_initializer(), False),
        (v1.random_normal_initializer(), False),
        (None, False),
    ],
)
@pytest.mark.parametrize("resource", [True, False])
def test_the_initializer_tells(initializer, is_zero, resource):
    graph = traced(lambda: v1.get_variable("w", [4, 3], initializer=initializer, use_resource=resource))
    assert begins_with_zeros(WholeGraph(saved(graph)), "w") == is_zero
