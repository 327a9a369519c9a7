"""One program in both layouts: rewritten to NHWC, that in NCHW has the other one's loss and gradients, bit by bit."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.graph.layout import OPS, channels_first, with_channels_last
from legacy.saved.report.next_step import layout_rows
from workloads.lifted.graph import Graph

v1 = tf.compat.v1
IMAGES = np.random.RandomState(1).randint(-4, 5, [2, 6, 6, 2]).astype("float32")
FIRST = [0, 3, 1, 2]


def ordered(numbers, layout):
    """Numbers of the dimensions of NHWC, in the order of a layout."""
    return [numbers[i] for i in (FIRST if layout == "NCHW" else range(4))]


def constant(shape, seed):
    return tf.constant(np.random.RandomState(seed).randint(-2, 3, shape).astype("float32") / 4)


def network(layout):
    """Adds loss and gradients of a small network; images enter as the placeholder `images`."""
    x = v1.placeholder(tf.float32, ordered([2, 6, 6, 2], layout), "images")
    kernel, deep = constant([3, 3, 2, 4], 1), constant([2, 2, 4, 1], 2)
    scale, offset, bias = constant([4], 3) + 2, constant([4], 4), constant([4], 5)
    y = tf.raw_ops.Conv2D(
        input=x,
        filter=kernel,
        strides=ordered([1, 2, 1, 1], layout),
        padding="EXPLICIT",
        explicit_paddings=np.ravel(ordered([[0, 0], [1, 2], [0, 1], [0, 0]], layout)).tolist(),
        data_format=layout,
        name="conv",
    )
    y = tf.nn.bias_add(y, bias, data_format=layout)
    y, mean, variance = v1.nn.fused_batch_norm(y, scale, offset, data_format=layout)
    y = v1.nn.max_pool(y, *[ordered([1, 2, 2, 1], layout)] * 2, "SAME", data_format=layout)
    y = v1.nn.depthwise_conv2d_native(y, deep, [1, 1, 1, 1], "SAME", data_format=layout)
    y = v1.nn.avg_pool(y, ordered([1, 2, 1, 1], layout), ordered([1, 1, 1, 1], layout), "SAME", data_format=layout)
    loss = tf.reduce_sum(y * y * 0.25 + y) + tf.reduce_sum(mean * variance)
    tf.identity(loss, "loss")
    for name, gradient in zip(("x", "kernel", "deep", "scale"), tf.gradients(loss, [x, kernel, deep, scale])):
        tf.identity(gradient, "d_" + name)


def graph_of_network(layout):
    with tf.Graph().as_default() as graph:
        network(layout)
    return graph.as_graph_def()


def values(graph_def, images):
    names = ["loss:0", "d_x:0", "d_kernel:0", "d_deep:0", "d_scale:0", "conv:0"]
    with tf.Graph().as_default(), v1.Session() as session:
        tf.import_graph_def(graph_def, name="")
        return dict(zip(names, session.run(names, {"images:0": images})))


def layouts(graph_def):
    return {node.attr["data_format"].s for node in graph_def.node if node.op in OPS}


def test_both_layouts_agree_bit_by_bit():
    first, last = graph_of_network("NCHW"), graph_of_network("NHWC")
    rewritten = with_channels_last(first)
    assert (layouts(first), layouts(rewritten)) == ({b"NCHW"}, {b"NHWC"})
    assert len({node.op for node in first.node if node.op in OPS}) >= 12
    ours, theirs = values(rewritten, IMAGES.transpose(FIRST)), values(last, IMAGES)
    for name in ("d_x:0", "conv:0"):  # tensors keep the layout that the old graph gave them
        theirs[name] = theirs[name].transpose(FIRST)
    for name, value in theirs.items():
        assert ours[name].tobytes() == np.ascontiguousarray(value).tobytes(), name
    assert np.abs(theirs["d_kernel:0"]).max() > 0


def test_a_graph_with_channels_last_stays_as_it_is():
    graph_def = graph_of_network("NHWC")
    assert list(with_channels_last(graph_def).node) == list(graph_def.node)


@pytest.mark.parametrize("takes_branch", [True, False])
def test_a_convolution_inside_of_a_branch_stays_there(takes_branch):
    """Its constants must be of the branch too: they depend on what the branch takes."""
    v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            x = v1.placeholder(tf.float32, [2, 2, 6, 6], "x")
            kernel = constant([1, 1, 2, 2], 1)
            taken = v1.placeholder(tf.bool, [], "taken")
            convolved = lambda: tf.nn.conv2d(x, kernel, 1, "SAME", data_format="NCHW")  # noqa: E731
            tf.identity(v1.cond(taken, convolved, lambda: x * 2.0), "y")
    finally:
        v1.enable_control_flow_v2()
    rewritten = with_channels_last(graph.as_graph_def())
    images = IMAGES.transpose(FIRST)
    with tf.Graph().as_default(), v1.Session() as session:
        tf.import_graph_def(rewritten, name="")
        found = session.run("y:0", {"x:0": images, "taken:0": takes_branch})
    kernel = np.random.RandomState(1).randint(-2, 3, [1, 1, 2, 2]) / 4
    expected = np.einsum("nchw,co->nohw", images, kernel[0, 0]) if takes_branch else images * 2
    assert np.array_equal(found, expected.astype("float32"))


@pytest.mark.parametrize("layout, row", [("NCHW", True), ("NHWC", False)])
def test_the_page_says_that_a_graph_needs_another_layout_on_a_cpu(layout, row):
    graph = Graph(graph_of_network(layout))
    found = layout_rows(len(channels_first(graph)))
    assert ("conv" in channels_first(graph)) == row
    assert [text["is"].partition(",")[0].endswith("ops compute in NCHW") for text in found] == [True] * row
