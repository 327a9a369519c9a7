"""Rows that a batch looks up several times, in updates that take them one by one and in others that add them up."""

import pytest
import tensorflow as tf

from legacy.saved.facts.updates.repeated_rows import repeated_row_sentences
from tests.legacy.saved.facts.updates.test_rows_of_moments import adam, old_adam, step_of

v1 = tf.compat.v1


def sentences_of(update):
    """The sentences on a table of which two towers look up rows; `update` takes the table and its gradient's rows."""
    step = step_of(update)
    return [text for phase in step.phases for text in repeated_row_sentences(step, phase)]


def old_adagrad(table, gradient):
    """As TensorFlow 0.12 makes it: rows are not added up before the rule."""
    slot = v1.get_variable("table/Adagrad", [3, 1], trainable=False, use_resource=False)
    tf.raw_ops.SparseApplyAdagrad(
        var=table.op.outputs[0],
        accum=slot.op.outputs[0],
        lr=0.5,
        grad=gradient.values,
        indices=gradient.indices,
        name="train",
    )


def adagrad(table, gradient):
    v1.train.AdagradOptimizer(0.5).apply_gradients([(gradient, table)], name="train")


def descent(table, gradient):
    v1.train.GradientDescentOptimizer(0.5).apply_gradients([(gradient, table)], name="train")


@pytest.mark.parametrize("update, op", [(old_adagrad, "SparseApplyAdagrad"), (old_adam, "ScatterAdd")])
def test_rows_one_by_one(update, op):
    (text,) = sentences_of(update)
    assert text.startswith(
        f"train: rows of table that a batch looks up several times change the slots one by one ({op})"
    )


@pytest.mark.parametrize("update", [adagrad, adam, descent])
def test_rows_that_are_added_up_or_count_linearly(update):
    assert not sentences_of(update)
