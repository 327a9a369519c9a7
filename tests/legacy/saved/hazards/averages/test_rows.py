"""Rows that a scatter moves towards data, away from them, or by other numbers."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.averages.rows import follows_rows, kept_of_rows
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "move, follows, grows",
    [
        (lambda kept, y, x: v1.scatter_sub(kept, y, 0.5 * (tf.gather(kept, y) - x), name="move"), True, False),
        (lambda kept, y, x: v1.scatter_add(kept, y, 0.5 * (x - tf.gather(kept, y)), name="move"), True, False),
        (lambda kept, y, x: v1.scatter_add(kept, y, 0.5 * (tf.gather(kept, y) - x), name="move"), False, True),
        (lambda kept, y, x: v1.scatter_add(kept, y, x, name="move"), False, False),
        (lambda kept, y, x: v1.scatter_sub(kept, y, 0.5 * tf.gather(kept, y), name="move"), False, False),
    ],
)
def test_rows_that_follow_data_keep_less_than_all_of_themselves(move, follows, grows):
    def build():
        kept = v1.get_variable("kept", [9, 3], use_resource=False)
        move(kept, v1.placeholder(tf.int32, [8], "y"), v1.placeholder(tf.float32, [8, 3], "x"))

    whole = WholeGraph(saved(traced(build)))
    assert follows_rows(whole, "move") == follows and (kept_of_rows(whole, "move").share > 1) == grows
