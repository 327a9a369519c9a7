"""Gradients of LSTM cells and second derivatives of elu, as old TensorFlow computed them, and right ones."""

import pytest
import tensorflow as tf
from tensorflow.python.ops import gen_nn_ops

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.derivatives.wrong_derivatives import exchanges_peepholes
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.models.old_derivatives import (
    exchanged_peepholes,
    second_derivatives_of_elu,
    second_derivatives_of_normalization,
)
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards import minimized
from tests.legacy.source.idioms.test_block_cells import with_peepholes

v1 = tf.compat.v1


@pytest.mark.parametrize("gradient, count", [("LSTMBlockCellOf14", 1), ("LSTMBlockCellWithPeepholes", 0)])
def test_a_gradient_with_exchanged_peepholes_is_named(gradient, count):
    weights = [f"net/{name}" for name in ("w", "b", "of_i", "of_f", "of_o")]
    graph = saved(traced(with_peepholes(gradient)), trainable_variables=weights)
    found = list(exchanged_peepholes(WholeGraph(graph, analyse_graph(graph, "made-for-a-test"))))
    assert [hazard.id for hazard in found] == ["PEEPHOLES_EXCHANGED"] * count
    assert all("of 4 LSTM cells" in hazard.description for hazard in found)


def test_other_ops_have_no_peepholes():
    graph = traced(lambda: tf.tanh(v1.placeholder(tf.float32, [2], "x"), name="y"))
    assert not exchanges_peepholes(graph, "y", "x")


@tf.RegisterGradient("EluGradOf14")
def _of_elu_grad(op, grad):
    """TensorFlow up to 1.4 takes the derivative of EluGrad at its own result."""
    return gen_nn_ops.elu_grad(grad, op.outputs[0]), tf.zeros_like(op.inputs[1])


@pytest.mark.parametrize("activation, is_old, count", [("elu", True, 1), ("elu", False, 0), ("tanh", False, 0)])
def test_a_second_derivative_of_elu_at_the_first_one_is_named(activation, is_old, count):
    def loss():
        x = minimized.fed("x", 4, 3)
        made = getattr(tf.nn, activation)(x @ minimized.variable("w", 3, 2))
        with tf.compat.v1.get_default_graph().gradient_override_map({"EluGrad": "EluGradOf14"} if is_old else {}):
            (slope,) = tf.gradients(tf.reduce_sum(tf.square(made)), [x])
        return tf.reduce_mean(tf.square(slope))

    assert minimized.found(second_derivatives_of_elu, loss) == ["ELU_DERIVED_WRONGLY"] * count


@tf.RegisterGradient("FusedBatchNormGradOf14")
def _of_fused_batch_norm_grad(op, *grads):
    """TensorFlow 1.4 takes derivatives by [grad_y, x, scale], of which grad_y may be made of x."""
    grad_y, x, scale = op.inputs[:3]
    centered = x - tf.reduce_mean(x, [0, 1, 2])
    deviation = tf.sqrt(tf.reduce_mean(tf.square(centered), [0, 1, 2]) + op.get_attr("epsilon"))
    x_hat = centered / deviation
    rest = grad_y - tf.reduce_mean(grad_y, [0, 1, 2]) - x_hat * tf.reduce_mean(grad_y * x_hat, [0, 1, 2])
    found = tf.gradients(scale / deviation * rest, [grad_y, x, scale], grads[0])
    return [*found, *[None] * (len(op.inputs) - 3)]


def penalty_behind_normalization(is_old, activation):
    x = minimized.fed("x", 4, 3, 3, 2)
    scale, offset = tf.ones([3]), tf.zeros([3])
    mixed = tf.nn.conv2d(x, minimized.variable("w", 1, 1, 2, 3), 1, "SAME")
    made = activation(v1.nn.fused_batch_norm(mixed, scale, offset)[0])
    with v1.get_default_graph().gradient_override_map(
        {"FusedBatchNormGradV3": "FusedBatchNormGradOf14"} if is_old else {}
    ):
        (slope,) = tf.gradients(tf.reduce_sum(made), [x])
    return tf.reduce_mean(tf.square(slope))


@pytest.mark.parametrize(
    "is_old, activation, count", [(True, tf.tanh, 1), (False, tf.tanh, 0), (True, lambda x: x * 2.0, 0)]
)
def test_a_second_derivative_of_normalization_that_counts_a_path_twice_is_named(is_old, activation, count):
    """What is linear behind the normalization hands back a gradient that is not made of its input."""
    found = minimized.found(
        second_derivatives_of_normalization, lambda: penalty_behind_normalization(is_old, activation)
    )
    assert found == ["NORMALIZATION_DERIVED_WRONGLY"] * count
