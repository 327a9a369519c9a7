"""Layers that share a weight by accident, beside copies of a network and repeated layers."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.updates.shared_layers import layers_that_share_weights
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(network):
    def build():
        filters = v1.get_variable("filters", [3, 3, 2, 2], use_resource=False)
        loss = tf.reduce_mean(tf.square(network(v1.placeholder(tf.float32, [4, 8, 8, 2], "x"), filters)))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    return list(layers_that_share_weights(WholeGraph(saved(traced(build), trainable_variables=["filters", "kernel"]))))


def conv(x, filters, stride):
    return tf.nn.relu(v1.nn.conv2d(x, filters, [1, stride, stride, 1], "SAME"))


def test_convolutions_of_other_strides_one_after_the_other_are_named():
    (hazard,) = found(lambda x, filters: conv(conv(x, filters, 1), filters, 2))
    assert hazard.id == "LAYERS_SHARE_WEIGHT" and "2 layers, one after the other, have one weight filters" in hazard[2]


def repeated(x, filters):
    return conv(conv(x, filters, 1), filters, 1)


def refined(x, filters, pads=1):
    """Iterations that refine a map, of which the first one takes a padded map and the others pad by themselves."""
    padded = tf.pad(x, [[0, 0], [pads, pads], [pads, pads], [0, 0]]) if pads else x
    first = tf.nn.sigmoid(v1.nn.conv2d(padded, filters, [1, 1, 1, 1], "VALID"))
    return tf.nn.sigmoid(v1.nn.conv2d(first, filters, [1, 1, 1, 1], "SAME"))


def beside_each_other(x, filters):
    return tf.reduce_sum(conv(x, filters, 1)) - tf.reduce_sum(conv(x, filters, 2))


@pytest.mark.parametrize("network", [repeated, refined, beside_each_other])
def test_a_layer_that_is_repeated_or_used_on_two_inputs_is_not(network):
    assert found(network) == []


def test_layers_of_which_one_pads_and_one_makes_the_map_smaller_are_named():
    (hazard,) = found(lambda x, filters: refined(x, filters, pads=0))
    assert hazard.id == "LAYERS_SHARE_WEIGHT"


@pytest.mark.parametrize("layers, count", [((0, 1), 1), ((0, 0), 0)])
def test_layers_of_a_stack_of_cells_are_named(layers, count):
    def network(x, filters):
        kernel = v1.get_variable("kernel", [2, 2], use_resource=False)
        x = tf.reshape(conv(x, filters, 1), [-1, 2])
        for time, number in enumerate(layers):
            with tf.name_scope(f"rnn/multi_rnn_cell/cell_{number}/cell"), tf.name_scope(f"time_{time}"):
                x = tf.matmul(x, kernel)
        return x

    assert [hazard.id for hazard in found(network)] == ["LAYERS_SHARE_WEIGHT"] * count


@pytest.mark.parametrize(
    "scope, times, count", [("multi_rnn_cell/cell_0", 2, 1), ("cell_0", 2, 0), ("multi_rnn_cell/cell_0", 1, 0)]
)
def test_a_cell_that_a_loop_runs_twice_in_one_round_is_named(scope, times, count):
    def network(x, filters):
        kernel = v1.get_variable("kernel", [2, 2], use_resource=False)
        x = tf.reshape(conv(x, filters, 1), [-1, 2])

        def cells(step, state):
            with tf.name_scope(scope):
                for _ in range(times):
                    state = tf.tanh(tf.matmul(state, kernel))
            return step + 1, state

        return v1.while_loop(lambda step, state: step < 3, cells, [0, x], name="rnn/while")[1]

    assert [hazard.id for hazard in found(network)] == ["LAYERS_SHARE_WEIGHT"] * count
