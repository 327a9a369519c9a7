"""Text of a value that a loss uses of all towers' batch."""

import pytest

from legacy.source.basics.expressions import Name, call
from legacy.source.basics.rendering import expression_text
from legacy.source.basics.values_of_all import size_of_all, uses_values_of_all, values_of_all

LENGTHS = Name("lengths")


def test_a_replicas_part_is_gathered_and_a_whole_stays():
    assert expression_text(values_of_all(size_of_all(LENGTHS))) == "scope.of_all(lengths)"
    assert values_of_all(LENGTHS) == LENGTHS


def test_rows_that_are_repeated_otherwise_are_no_part():
    other = call("tf.repeat", LENGTHS, 2, axis=0)
    assert values_of_all(other) == other


@pytest.mark.parametrize("expression, expected", [(values_of_all(size_of_all(LENGTHS)), True), (LENGTHS, False)])
def test_whether_a_loss_uses_them(expression, expected):
    assert uses_values_of_all([call("tf.reduce_sum", expression)]) is expected
