"""Rows that gradient descent subtracts: the learning rate is no part of how the towers' rows are combined."""

import pytest
import tensorflow as tf

from tests.legacy.saved.analysis.other_numbers.built import BATCH, assert_as_built, in_towers, variable

v1 = tf.compat.v1


@pytest.mark.parametrize("optimizer", [v1.train.GradientDescentOptimizer, v1.train.AdagradOptimizer])
@pytest.mark.parametrize("rate", [0.125, 0.5])
@pytest.mark.parametrize("is_mean", [True, False])
def test_rows_are_averaged_or_summed_whatever_their_rate(optimizer, rate, is_mean, tmp_path):
    def build(towers):
        ids = tf.split(v1.placeholder(tf.int32, [towers * BATCH], name="ids"), towers)
        table = variable("table", [5, 2])
        losses = in_towers(towers, lambda tower: tf.reduce_mean(tf.nn.embedding_lookup(table, ids[tower]) ** 2))
        rows = [tf.gradients(loss, [table])[0] for loss in losses]
        values, indices = (tf.concat([getattr(one, name) for one in rows], 0) for name in ("values", "indices"))
        joined = tf.IndexedSlices(values / towers if is_mean else values, indices)
        return optimizer(rate).apply_gradients([(joined, table)], name="train")

    assert_as_built(build, tmp_path)
