"""Expressions of what enters a forward pass."""

import tensorflow as tf

from legacy.source.basics.expressions import Value, Variable
from legacy.source.definitions.input_values import InputValues, Names
from tests.legacy.source.tiny import recovered


def test_a_variable_that_the_part_reads_is_that_value():
    recovery, _ = recovered(lambda x, w: tf.matmul(x, w), {"x": [3]}, {"w": [3, 2]})
    names = Names({}, {}, {"w"}, {"other": "ZEROS"})
    values = InputValues(recovery._forward, names, {})
    assert values.read_variable("w", (3, 2)) == Value("w:0")
    assert values.read_variable("other", (2,)) == Variable("other", (2,), "ZEROS", trainable=False)
    assert values.variable("w", (3, 2)) == Variable("w", (3, 2), "", trainable=True)
