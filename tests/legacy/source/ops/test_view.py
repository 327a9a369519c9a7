"""Numbers that follow the batch, as writers of ops see them."""

import pytest

from legacy.source.basics.rendering import expression_text
from legacy.source.ops.view import _part_of_batch


@pytest.mark.parametrize(
    "factor, text", [(0.5, "batch_size // 2"), (0.75, "3 * batch_size // 4"), (2.0, "2 * batch_size")]
)
def test_parts_of_a_batch_are_whole_numbers(factor, text):
    assert expression_text(_part_of_batch(factor)) == text


def test_a_factor_that_is_no_simple_part_is_none():
    assert _part_of_batch(0.123) is None
