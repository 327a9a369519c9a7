"""Rows of hazards, and the plural of their texts."""

import pytest

from legacy.saved.hazards.hazard import Hazard, plural


def test_a_row_has_the_keys_of_the_json_format_in_order():
    row = Hazard("SAME_BATCH", "x", "both towers", "shard").row()
    assert list(row.items()) == [
        ("hazard", "SAME_BATCH"),
        ("op", "x"),
        ("what", "both towers"),
        ("in tf.distribute", "shard"),
    ]


@pytest.mark.parametrize("count, text", [(0, "towers"), (1, "tower"), (2, "towers")])
def test_only_one_is_singular(count, text):
    assert plural(count, "tower", "towers") == text
