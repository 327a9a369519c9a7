"""Shapes of arrays whose rank TensorFlow does not know."""

import pytest
import tensorflow as tf

from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.inputs.description import InputDescriber
from legacy.saved.inputs.open_shapes import is_slice, known_shape
from tests.legacy.saved.graphs import traced
from workloads.lifted.graph import TensorId

v1 = tf.compat.v1


def build():
    x = v1.placeholder(tf.float32, name="x")  # of an iterator over what Python returns
    tf.identity(x[0:2, :, :, :], name="image")
    tf.nn.conv2d(x[2:4, :, :, :], tf.zeros([3, 3, 5, 8]), 1, "SAME")
    tf.identity(x[0:2], name="rows")
    tf.identity(x[0:2, 3], name="column")
    tf.identity(x[0:2, ..., None], name="other")
    tf.identity(x[3], name="number")
    tf.raw_ops.MatMul(a=v1.placeholder(tf.float32, name="matrix"), b=tf.zeros([3, 3]))
    labels = v1.placeholder(tf.int32, name="labels")  # of `shape=(None)`, which is no tuple
    tf.nn.sparse_softmax_cross_entropy_with_logits(labels, v1.placeholder(tf.float32, [None, 3], "logits"))
    v1.placeholder(tf.float32, [2, None], name="open")
    views = v1.placeholder(tf.float32, name="views")  # of several images, one by one
    tf.slice(views, [0, 1, 0, 0, 0], [-1, 1, -1, -1, 3])
    tf.pad(v1.placeholder(tf.float32, name="padded"), [[0, 0], [1, 1], [0, 0]])
    turned = v1.placeholder(tf.float32, name="turned")
    tf.raw_ops.Transpose(x=turned, perm=v1.placeholder(tf.int32, [None], "order"))
    words = v1.placeholder(tf.float32, [None, None, 2], "words")
    lengths = v1.placeholder(tf.int32, name="lengths")  # of sentences
    tf.reverse_sequence(words * v1.placeholder(tf.float32, name="rate"), lengths, seq_axis=1, batch_axis=0)
    tf.nn.conv2d(v1.placeholder(tf.float32, name="nchw"), tf.zeros([1, 1, 7, 8]), 1, "SAME", data_format="NCHW")
    framed = tf.pad(v1.placeholder(tf.float32, name="framed"), [[0, 0], [1, 1], [1, 1], [0, 0]])
    tf.nn.conv2d(framed, tf.zeros([3, 3, 3, 8]), 1, "VALID")
    more = tf.pad(v1.placeholder(tf.float32, name="more_channels"), [[0, 0], [0, 0], [0, 0], [0, 2]])
    tf.nn.conv2d(more, tf.zeros([3, 3, 3, 8]), 1, "VALID")
    tf.nn.conv2d(v1.placeholder(tf.float32, [2, 8, 8, None], "sides"), tf.zeros([3, 3, 3, 8]), 1, "SAME")


GRAPH = traced(build)
IMPORTED = ImportedGraph(GRAPH)


def before(name):
    """The tensor that a node takes."""
    return GRAPH.inputs(name)[0]


@pytest.mark.parametrize(
    "tensor, shape",
    [
        (before("image"), (None, None, None, None)),
        (before("Conv2D"), (None, None, None, 5)),  # the channels of the filter
        (before("Conv2D_1"), (None, 7, None, None)),
        (before("column"), (None,)),
        (TensorId("matrix", 0), (None, None)),
        (TensorId("labels", 0), (None,)),
        (TensorId("lengths", 0), (None,)),
        (TensorId("rate", 0), None),
        (TensorId("open", 0), (2, None)),
        (TensorId("views", 0), (None,) * 5),
        (TensorId("padded", 0), (None,) * 3),
        (TensorId("framed", 0), (None, None, None, 3)),  # a frame adds no channels
        (TensorId("more_channels", 0), (None,) * 4),
        (TensorId("sides", 0), (2, 8, 8, 3)),
        (TensorId("turned", 0), None),  # in an order that is not known
        (before("rows"), None),  # any number of dimensions may follow
        (before("other"), None),
        (TensorId("x", 0), None),
    ],
)
def test_a_slice_and_the_ops_that_take_a_tensor_tell_its_rank(tensor, shape):
    assert known_shape(GRAPH, IMPORTED, tensor) == shape


def test_rows_of_an_array_are_a_slice_and_a_number_is_none():
    assert is_slice(GRAPH, IMPORTED, before("rows")) and is_slice(GRAPH, IMPORTED, before("column"))
    assert not is_slice(GRAPH, IMPORTED, before("number")) and not is_slice(GRAPH, IMPORTED, TensorId("x", 0))


def test_what_towers_slice_is_a_batch_and_no_setting():
    describer = InputDescriber(GRAPH, IMPORTED, {}, None)
    images, rows, number, lengths, rate = describer.describe(
        [
            *([before("image"), before("Conv2D")], [before("rows")], [before("number")]),
            *([TensorId("lengths", 0)], [TensorId("rate", 0)]),
        ]
    )
    assert (lengths.kind, lengths.shape, lengths.low) == ("batch", [None], 1)
    assert rate.kind == "setting"
    assert (images.kind, images.shape) == ("batch", [None] * 4)
    assert (rows.kind, rows.shape) == ("batch", None)
    assert number.kind == "setting"


def recorded_slice(recorded, shape=None):
    """The graph of a slice of an array of some shape, whose own recorded shape is another one."""

    def sliced():
        x = tf.identity(v1.placeholder(tf.float32, shape, "x"))
        tf.identity(tf.split(x, 2, name="part")[1], name="taken")

    value = v1.AttrValue()
    value.list.shape.extend([tf.TensorShape(None).as_proto(), tf.TensorShape(recorded).as_proto()])
    graph = traced(sliced)
    graph.nodes["part"].attr["_output_shapes"].CopyFrom(value)
    return known_shape(graph, ImportedGraph(graph), TensorId("part", 1))


@pytest.mark.parametrize(
    "recorded, shape, known",
    [
        ([2, 32, None, 3], None, (2, 32, None, 3)),  # set by Python, as of images that `tf.cond` augments
        ([2, 32, 32, 3], [None, None, 16, None], (None, None, 16, None)),  # of another graph
        ([2, 32, None, 3], [4, None, 16, None], (2, 32, 16, 3)),
        ([2, 3], [4, None, 3], (2, None, 3)),
        (None, [4, None], (2, None)),
    ],
)
def test_a_slice_has_the_sizes_that_its_program_knew(recorded, shape, known):
    assert recorded_slice(recorded, shape) == known
