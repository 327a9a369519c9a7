"""The backward ops of an op with an overridden gradient, whether they are the usual ones, and the text of them."""

import pytest
import tensorflow as tf
from tensorflow.python.ops import gen_nn_ops

from legacy.source.basics.expressions import Literal, Name, Prefix, Value
from legacy.source.basics.unwritten import Unwritten
from legacy.source.overrides.backward import Backward, backward_of
from legacy.source.overrides.usual import is_usual
from legacy.source.overrides.writing import overridden_value
from workloads.lifted.graph import Graph, TensorId

v1 = tf.compat.v1


@tf.RegisterGradient("WithNoise")
def _with_noise(op, gradient):
    return gradient * tf.random.uniform([2])


@tf.RegisterGradient("Passing")
def _passing(op, gradient):
    return gradient


@tf.RegisterGradient("LikeRelu")
def _like_relu(op, gradient):
    return gen_nn_ops.relu_grad(gradient, op.outputs[0])


def backward(kind, registered, function):
    """The graph of an op "one" with an overridden gradient, and its backward ops."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [2], name="x")
        with graph.gradient_override_map({kind: registered}):
            result = function(tf.exp(x), name="one")
        (made,) = tf.gradients(tf.square(result), [x])
        tf.identity(made, name="taken")
    index = Graph(graph.as_graph_def())
    return index, backward_of(index, "one", [name for name in index.nodes if "/one_grad/" in name])


def test_backward_ops_that_draw_random_numbers_are_not_told():
    assert backward("Identity", "WithNoise", tf.identity)[1] is None


def test_a_gradient_that_is_handed_on_has_no_backward_ops():
    index, found = backward("Sign", "Passing", tf.sign)
    assert found == Backward("one", (), None, {0: None}) and not is_usual(index, found)
    assert is_usual(*backward("Identity", "Passing", tf.identity))


def test_a_usual_gradient_is_known_by_its_ops():
    index, found = backward("Relu", "LikeRelu", tf.nn.relu)
    assert [index.type(name) for name in found.members] == ["ReluGrad"] and is_usual(index, found)
    index, found = backward("Tanh", "LikeRelu", tf.tanh)
    assert not is_usual(index, found)
    assert found.given.node.startswith("gradients/Square_grad/") and found.results == {0: TensorId(found.members[0], 0)}


def test_a_derivative_by_a_constant_is_not_written():
    with pytest.raises(Unwritten, match="by a constant"):
        overridden_value("one", [Value("one/value:0"), Name("gradient"), Literal(1.0)], 1, {}.get)
    made = overridden_value("one", [Value("a:0"), Prefix("-", Name("gradient")), Value("x:0")], 1, {}.get)
    assert made.function == "with_derivative" and made.arguments[1].value.parameters == "gradient, x"
