"""Numbers that scalar variables begin with."""

import tensorflow as tf

from legacy.saved.facts.basics.first_values import first_value, with_first_value
from tests.legacy.saved.graphs import traced

v1 = tf.compat.v1


def test_a_constant_is_the_first_value_and_a_random_number_is_none():
    def build():
        v1.get_variable("rate", initializer=0.5, use_resource=False)
        v1.get_variable("drawn", [], initializer=v1.random_uniform_initializer(), use_resource=False)

    graph = traced(build)
    assert first_value(graph, "rate") == 0.5 and with_first_value(graph, "rate") == "rate (0.5 at first)"
    assert first_value(graph, "drawn") is None and with_first_value(graph, "drawn") == "drawn"
