"""Floors of small graphs."""

import contextlib

import pytest
import tensorflow as tf

from parity.profiling.kernel_floor import FloorUnknown, KernelFloor

v1 = tf.compat.v1


def small_graph(batch, in_loop=False):
    """A graph that trains a convolution and a product; or whose update needs a product in a loop."""
    with tf.Graph().as_default() as graph:
        image = v1.placeholder(tf.float32, (batch, 4, 4, 2))
        filters = v1.get_variable("filters", (3, 3, 2, 2), use_resource=True)
        weights = v1.get_variable("weights", (32, 2), use_resource=True)
        v1.disable_control_flow_v2()
        flat = tf.reshape(tf.nn.conv2d(image, filters, 1, "SAME"), (-1, 32))
        if in_loop:
            total = tf.while_loop(lambda x: x < 2.0, lambda x: x + tf.matmul(flat, weights)[0, 0], [0.0])
            tf.group(v1.assign_add(weights, tf.ones((32, 2)) * total), name="train")
        else:
            product = tf.matmul(flat, weights)
            v1.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(product**2), name="train")
    return graph


def test_a_floor_runs_every_product_of_the_graph_and_nothing_else():
    graph = small_graph(2)
    with contextlib.closing(KernelFloor(graph, ["train"], ["CPU:0"])) as floor:
        floor.run(2)
        ran = [op for op in floor.session.graph.get_operations() if op.name.startswith("product")]
    expected = ["Conv2D", "Conv2DBackpropFilter", "MatMul", "MatMul", "MatMul"]
    assert sorted(op.type for op in ran) == expected and floor.count == len(expected)
    originals = {op.type: op for op in graph.get_operations()}
    for op in ran:
        if op.type != "MatMul":
            assert op.outputs[0].shape == originals[op.type].outputs[0].shape


def test_products_of_a_device_run_one_after_the_other():
    with contextlib.closing(KernelFloor(small_graph(2), ["train"], ["CPU:0"])) as floor:
        chain = [op for op in floor.session.graph.get_operations() if op.name.startswith("product")]
    assert [op.control_inputs for op in chain] == [[], *[[op] for op in chain[:-1]]]


@pytest.mark.parametrize("graph, reason", [((None,), "shape .* is not known"), ((2, True), "stands in a loop")])
def test_a_floor_that_cannot_be_known(graph, reason):
    with pytest.raises(FloorUnknown, match=reason):
        KernelFloor(small_graph(*graph), ["train"], ["CPU:0"])


def test_a_gradient_that_is_computed_for_nothing_does_not_count():
    graph = small_graph(2)
    assert "Conv2DBackpropInput" in [op.type for op in graph.get_operations()]
    with contextlib.closing(KernelFloor(graph, ["train"], ["CPU:0"])) as floor:
        assert "Conv2DBackpropInput" not in [op.type for op in floor.session.graph.get_operations()]


def test_steps_of_different_ops_have_no_floor():
    with pytest.raises(FloorUnknown, match="the steps run different ops: train, other"):
        KernelFloor(small_graph(2), ["train", "other"], ["CPU:0"])
