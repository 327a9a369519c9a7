"""Expressions of what all replicas have of a batch."""

from legacy.source.basics.expressions import Infix, Item, Literal, Name, call
from legacy.source.basics.rendering import expression_text
from legacy.source.basics.values_of_all import size_of_all, uses_values_of_all, values_of_all

LENGTHS = Item(Name("batch"), '"lengths"')


def test_values_and_sizes_of_all_replicas_are_of_the_same_part():
    size = size_of_all(LENGTHS)
    assert expression_text(size) == 'tf.repeat(batch["lengths"], scope.replicas, axis=0)'
    assert expression_text(values_of_all(size)) == 'scope.of_all(batch["lengths"])'
    assert values_of_all(LENGTHS) == LENGTHS  # a lift's batch has it whole


def test_values_are_found_inside_of_expressions():
    inside = Infix("/", Literal(1.0), call("tf.reduce_sum", values_of_all(size_of_all(LENGTHS))))
    assert uses_values_of_all([LENGTHS, inside]) and not uses_values_of_all([LENGTHS, size_of_all(LENGTHS)])
