"""Tables that are looked up by their own numbers, and by those of another table."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.goals.other_tables import tables_of_other_numbers
from tests.legacy.saved.hazards import minimized


def factors(bias_rows, bias_of):
    def loss():
        given = {name: minimized.fed(name, 6, dtype=tf.int32) for name in ("user", "item")}
        users, items = minimized.variable("users", 9, 3), minimized.variable("items", 5, 3)
        score = tf.reduce_sum(tf.gather(users, given["user"]) * tf.gather(items, given["item"]), 1)
        return tf.reduce_mean(tf.square(score + tf.gather(minimized.variable("bias", bias_rows), given[bias_of])))

    return loss


@pytest.mark.parametrize(
    "rows, numbers, count",
    [(9, "item", 1), (5, "user", 1), (9, "user", 0), (5, "item", 0), (7, "item", 0)],  # 7 rows are of no other table
)
def test_a_table_that_is_looked_up_by_numbers_of_another_is_named(rows, numbers, count):
    assert minimized.found(tables_of_other_numbers, factors(rows, numbers)) == ["TABLE_OF_OTHER_NUMBERS"] * count
