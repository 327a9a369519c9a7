"""Rows that gradient descent subtracts: the learning rate is no part of how the towers' rows are combined."""

import types

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.analysis.reduction.row_rates import before_rates
from tests.legacy.saved.analysis.other_numbers.built import BATCH, assert_as_built, in_towers, variable
from tests.legacy.saved.graphs import graph_of
from workloads.lifted.plan import Combine

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


@pytest.mark.parametrize(
    "kind, op, tensor, scale",
    [
        ("concat", "ScatterSub", "rows:0", 0.5),
        ("concat", "SparseApplyAdagrad", "scaled:0", 0.05),  # it takes the rate by itself
        ("mean", "ScatterSub", "scaled:0", 0.05),
    ],
)
def test_a_rate_is_taken_off_joined_rows_that_are_subtracted(kind, op, tensor, scale):
    graph = graph_of("rows = Placeholder()\nrate = Const()\nscaled = Mul(rows, rate)")
    numbers = types.SimpleNamespace(constant=lambda name, output: np.float32(0.1) if name == "rate" else None)
    effect = types.SimpleNamespace(op=op, values=["scaled:0"])
    (found,) = before_rates(graph, numbers, [Combine("w", kind, "scaled:0", 0.05, [["a:0"], ["b:0"]])], [effect])
    assert (found.tensor, found.kind) == (tensor, kind) and found.scale == pytest.approx(scale)
