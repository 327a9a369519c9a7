"""Rows that a batch looks up several times, in updates that take them one by one and in others that add them up."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.repeated_rows import repeated_row_sentences
from tests.legacy.saved.facts.test_rows_of_moments import adam, old_adam
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def sentences_of(update):
    """The sentences on a table of which two towers look up rows; `update` takes the table and its gradient's rows."""

    def build():
        table = v1.get_variable("table", initializer=[[1.0], [2.0], [3.0]], use_resource=False)
        rows = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"):
                words = v1.placeholder(tf.int32, [2], "words")
                loss = tf.reduce_sum((tf.gather(table, words) - v1.placeholder(tf.float32, [2, 1], "y")) ** 2)
                rows += tf.gradients(loss, [table])
        values, indices = tf.concat([one.values / 2.0 for one in rows], 0), tf.concat([one.indices for one in rows], 0)
        update(table, tf.IndexedSlices(values, indices, rows[0].dense_shape))

    step = AnalysedStep(analyse_graph(saved(traced(build), trainable_variables=["table"]), "small", ["train"]))
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
