"""Layers that are run once for all towers, whose results the towers split: a lift would take these as data."""

import types

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.analysis.division.before_inputs import require_untrained_before_inputs
from tests.legacy.saved.graphs import graph_of, saved, traced
from workloads.lifted.plan import Variable
from workloads.support.errors import InputError

v1 = tf.compat.v1


def weight(name, *shape):
    with v1.variable_scope("", reuse=v1.AUTO_REUSE):
        return v1.get_variable(name, shape, use_resource=False)


def layer():
    x = v1.placeholder(tf.float32, [8, 6], "x")
    return tf.nn.relu(tf.matmul(x, weight("first", 6, 4), name="layer"))


def looked_up():
    rows = tf.nn.embedding_lookup(weight("table", 10, 4), v1.placeholder(tf.int32, [8, 3], "words"))
    return tf.reduce_mean(rows, 1)


def normalized():
    """Data that are normalized by a statistic that the step does not train."""
    x = v1.placeholder(tf.float32, [8, 4], "x")
    return x - v1.get_variable("mean", [4], trainable=False, use_resource=False)


def analysed(make_features, trained):
    def build():
        parts = tf.split(make_features(), 2)
        optimizer, towers = v1.train.GradientDescentOptimizer(0.125), []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"):
                loss = tf.reduce_sum(tf.square(tf.matmul(parts[tower], weight("w", 4, 3))))
                towers.append(optimizer.compute_gradients(loss, [weight(*one) for one in trained]))
        means = [(sum(tf.convert_to_tensor(g) for g, _ in pairs) / 2, pairs[0][1]) for pairs in zip(*towers)]
        optimizer.apply_gradients(means, name="train")

    return analyse_graph(saved(traced(build)), "x", ["train"]).plan


W = ("w", 4, 3)


@pytest.mark.parametrize(
    ("make_features", "first", "op"),
    [(layer, ("first", 6, 4), "layer"), (looked_up, ("table", 10, 4), "embedding_lookup")],
)
def test_a_layer_outside_of_the_towers_that_is_trained_cannot_be_lifted(make_features, first, op):
    with pytest.raises(InputError, match=f"the weight '{first[0]}' is trained through '{op}'"):
        analysed(make_features, [first, W])


@pytest.mark.parametrize("make_features", [layer, lambda: tf.stop_gradient(layer()), looked_up, normalized])
def test_what_is_not_trained_may_prepare_the_data(make_features):
    plan = analysed(make_features, [W])
    assert plan.towers == 2
    assert [variable.name for variable in plan.variables if variable.role == "weight"] == ["w"]


LAYER = """
    x = Placeholder()
    w = VariableV2()
    layer = MatMul(x, w)
    part = Identity(layer)
    """


@pytest.mark.parametrize(
    ("tensor", "derivative", "refused"),
    [
        ("part:0", "gradients/layer_grad/MatMul_1 = MatMul(x, part)", True),
        ("part:0", "", False),  # nothing differentiates the layer
        ("x:0", "gradients/layer_grad/MatMul_1 = MatMul(x, part)", False),  # the layer is behind the input
    ],
)
def test_an_input_may_not_be_made_by_a_layer_that_a_gradient_op_differentiates(tensor, derivative, refused):
    plan = types.SimpleNamespace(
        inputs=[types.SimpleNamespace(tensors=[tensor])], common=[], variables=[Variable("w", [2], "float32", "weight")]
    )
    graph = graph_of(LAYER + derivative + "\n")
    if refused:
        with pytest.raises(InputError, match="'w' is trained through 'layer'"):
            require_untrained_before_inputs(graph, plan)
    else:
        require_untrained_before_inputs(graph, plan)
