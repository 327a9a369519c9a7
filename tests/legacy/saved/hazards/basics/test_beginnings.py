"""Variables that their own initializers set to zeros, and others."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.beginnings import begins_with_zeros, first_value
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


@pytest.mark.parametrize("initial, first", [(1, 1.0), (0.25, 0.25), ([0.0, 1.0], None)])
def test_the_first_value_is_the_constant_of_all_elements(initial, first):
    graph = traced(lambda: v1.get_variable("w", initializer=initial, use_resource=False))
    assert first_value(WholeGraph(saved(graph)), "w") == first
