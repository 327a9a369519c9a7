"""Constants of a forward pass: folded, and told apart by whether they depend on the batch."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.source.basics.cut import Cut
from legacy.source.basics.forward import BATCHES, Forward
from legacy.source.basics.typed import SCALAR_PLACEHOLDERS, Typed
from tests.legacy.source.tiny import plan_of
from workloads.lifted.pieces.piece import Feed, Piece
from workloads.lifted.plan import Input

v1 = tf.compat.v1

#: {placeholder: its shape}; None if it may have any rank.
OF_ANY_RANK = {"x": [None, 3], "keep": None, "other": None}


def forward_of(build, batch=None):
    with tf.Graph().as_default() as graph:
        build(v1.placeholder(tf.float32, [batch, 3], "x"))
    feeds = {"x": Feed("cut", "x:0", "x")}
    return Forward(Cut(Piece(graph.as_graph_def(), list(feeds.values()), []), feeds, []), plan_of({"x": [3]}, batch))


def shapes(x):
    rows = tf.shape(x, name="shape")[0]
    tf.multiply(tf.cast(rows, tf.float32), 2.0, name="double")
    tf.multiply(tf.constant(2.0), 3.0, name="six")
    tf.add(x, 1.0, name="data")


def test_what_follows_from_shapes_and_constants_is_known():
    forward = forward_of(shapes)
    assert forward.constant("six:0") == 6.0 and not forward.varies("six:0")
    assert list(forward.constant("shape:0")) == [BATCHES[0][0], 3]
    assert forward.constant("data:0") is None
    assert forward.shape("data:0") == [BATCHES[0][0], 3]


def test_two_batch_sizes_tell_what_depends_on_the_batch():
    forward = forward_of(shapes)
    assert forward.varies("double:0") and forward.per_example("double:0") == 2.0
    assert forward.per_example("six:0") is None


def test_any_dimension_may_follow_the_batch():
    def filled(x):
        rows = tf.shape(x)[0]
        tf.fill([1, 2 * rows, 5], 0.5, name="twice")
        tf.fill([rows + 1, 5], 0.5, name="one_more")

    forward = forward_of(filled)
    assert forward.shape_per_example("twice:0") == [(1, False), (2, True), (5, False)]
    assert forward.shape_per_example("one_more:0") is None
    assert forward_of(filled, batch=4).shape_per_example("twice:0") == [(1, False), (8, False), (5, False)]


def test_a_graph_of_one_batch_size_has_constants_only():
    forward = forward_of(shapes, batch=4)
    assert forward.fixed and forward.constant("double:0") == 8.0 and not forward.varies("double:0")


@pytest.mark.parametrize("version", [21, 27])
def test_a_fed_scalar_has_no_dimensions_where_an_old_graph_leaves_its_rank_open(version):
    """Before version 24, a placeholder without dimensions is one of any rank; data of any rank stay so."""
    with tf.Graph().as_default() as graph:
        x, keep, other = (v1.placeholder(tf.float32, shape, name) for name, shape in OF_ANY_RANK.items())
        tf.multiply(x, keep, name="scaled")
        tf.multiply(x, other, name="mixed")
    graph_def = graph.as_graph_def()
    graph_def.versions.producer = version
    for node in graph_def.node:
        if version < SCALAR_PLACEHOLDERS and node.attr["shape"].shape.unknown_rank:
            node.attr["shape"].shape.Clear()
    feeds = {name: Feed("cut", name + ":0", name) for name in OF_ANY_RANK}
    plan = plan_of({"x": [3]})
    plan.inputs.append(Input("keep", "float32", None, "setting", 0, ["keep:0"], "keep"))
    forward = Forward(Cut(Piece(graph_def, list(feeds.values()), []), feeds, []), plan)
    assert forward.shape("scaled:0") == [BATCHES[0][0], 3] and forward.shape("mixed:0") is None


def test_random_numbers_and_large_tables_are_not_folded():
    with tf.Graph().as_default() as graph:
        tf.raw_ops.RandomUniform(shape=[2], dtype=tf.float32, name="random")
        tf.constant(np.arange(1000, dtype=np.float32), name="table")
        tf.constant(np.ones(1000, np.float32), name="scale")
        tf.constant(np.ones([300, 300], np.float32), name="mask")
        tf.constant(np.zeros(10, np.float32), name="small")
    known = Typed(graph.as_graph_def(), {}).constants
    assert "small:0" in known and "random:0" not in known and "table:0" not in known
    assert "scale:0" in known and "mask:0" not in known  # of one number, as what a batch norm without scale is given
