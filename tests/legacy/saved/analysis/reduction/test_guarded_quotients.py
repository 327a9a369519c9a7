"""Choices between a quotient and another number, by a condition on the divisor or on something else."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.context import Context
from legacy.saved.analysis.reduction.guarded_quotients import without_guard
from tests.legacy.saved.graphs import traced

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "condition, count",
    [
        (lambda total, count: count > 0.0, 1),
        (lambda total, count: tf.not_equal(0.0, count), 1),
        (lambda total, count: tf.cast(count, tf.int32) >= 1, 1),
        (lambda total, count: total > 0.0, 2),
        (lambda total, count: count > total, 2),
    ],
)
@pytest.mark.parametrize("choice", ["cond", "where"])
def test_the_value_of_a_batch_without_any_is_left_out(choice, condition, count):
    def build():
        total, counted = (tf.reduce_sum(v1.placeholder(tf.float32, [4], name)) for name in ("x", "mask"))
        if choice == "cond":
            made = tf.cond(condition(total, counted), lambda: total / counted, lambda: total * 2.0)
        else:
            made = tf.where(condition(total, counted), total / counted, total * 2.0)
        tf.identity(made, "loss")

    context = Context(traced(build))
    chosen = context.graph.inputs("loss")[0].node
    values = without_guard(context.graph, context.imported, chosen)
    assert len(values) == count
    if count == 1:
        assert context.graph.type(values[0].node) == "RealDiv"
