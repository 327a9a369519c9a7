"""Rows of hazards."""

from legacy.saved.hazards.basics.hazard import Hazard


def test_a_row_has_the_keys_of_the_json_format_in_order():
    row = Hazard("SAME_BATCH", "x", "both towers", "shard").row()
    assert list(row.items()) == [
        ("hazard", "SAME_BATCH"),
        ("op", "x"),
        ("what", "both towers"),
        ("in tf.distribute", "shard"),
    ]
