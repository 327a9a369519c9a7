"""Sources of programs that override the gradients of ops: written, proven, and trained beside the old graph."""

import itertools

import pytest
import tensorflow as tf
from tensorflow.python.ops import gen_nn_ops

from legacy.saved.derivatives.overridden_gradients import override_sentences
from legacy.source.overrides.marking import with_overridden_gradients
from tests.legacy.source.trained import assert_trains_alike, assert_workload_verified, source_of
from tests.legacy.variants.programs import TOWERS, lifted, split_batch, towers
from workloads.support.errors import InputError

v1 = tf.compat.v1
_NUMBERS = itertools.count()


@tf.RegisterGradient("Reversed")
def _reversed(op, gradient):
    return [tf.negative(gradient) * 0.5]


@tf.RegisterGradient("ClippedStraightThrough")
def _clipped(op, gradient):
    return gradient * tf.cast(tf.abs(op.inputs[0]) <= 1.0, tf.float32)


@tf.RegisterGradient("Guided")
def _guided(op, gradient):
    passed = gen_nn_ops.relu_grad(gradient, op.outputs[0])
    return v1.where(gradient > 0.0, passed, tf.zeros_like(gradient))


@tf.RegisterGradient("UsualRelu")
def _usual_relu(op, gradient):
    return gen_nn_ops.relu_grad(gradient, op.outputs[0])


@tf.RegisterGradient("Noisy")
def _noisy(op, gradient):
    return gradient * tf.random.uniform([4, 4])


def weight(name, shape):
    with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
        return v1.get_variable(name, shape, initializer=v1.glorot_uniform_initializer(seed=1), use_resource=False)


def overridden(kind, registered, function, x, **named):
    """`function(x)` with the gradient of its ops of a type overridden."""
    with v1.get_default_graph().gradient_override_map({kind: registered}):
        return function(x, **named)


def net(function, of_weights=False):
    """A loss behind a layer whose result, or whose weights, `function` changes."""

    def loss(x):
        kernel = weight("w", [3, 4])
        code = tf.matmul(x, function(kernel)) if of_weights else function(tf.matmul(x, kernel))
        return tf.reduce_mean(tf.square(tf.matmul(code, weight("v", [4, 2])) - 0.5))

    return loss


def program(loss):
    """Momentum on the mean of the towers' gradients of a loss."""

    def step():
        xs = split_batch()
        optimizer = v1.train.MomentumOptimizer(0.25, 0.5)

        def gradients(tower):
            value = loss(xs[tower])
            return tf.gradients(value, [weight("w", [3, 4]), weight("v", [4, 2])])

        means = [tf.add_n(list(pair)) / TOWERS for pair in zip(*towers(gradients))]
        return optimizer.apply_gradients(zip(means, [weight("w", [3, 4]), weight("v", [4, 2])]))

    return step


def assert_written(loss, tmp_path, expected):
    """Asserts that both sources of a program have a text and train with the bits of the old graph."""
    setup = lifted(program(loss), tmp_path)
    source = source_of(setup, "workload")
    assert expected in source.text
    assert "have the old graph's bits" in source.text
    assert_workload_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path, source_of(setup))
    return setup, source


@pytest.mark.parametrize(
    "kind, registered, function, expected",
    [
        ("Identity", "Reversed", tf.identity, "lambda gradient, x: -gradient * 0.5, x)"),
        (
            "Sign",
            "ClippedStraightThrough",
            tf.sign,
            "lambda gradient, x: gradient * tf.cast(tf.abs(x) <= 1.0, tf.float32), x)",
        ),
        ("Round", "Identity", tf.round, "with_derivative(tf.round(x), lambda gradient, x: gradient, x)"),
        ("Relu", "Guided", tf.nn.relu, "lambda gradient, x, y: tf.where(gradient > 0.0, tf.raw_ops.ReluGrad("),
    ],
)
def test_an_overridden_gradient_is_a_derivative_in_the_text(kind, registered, function, expected, tmp_path):
    assert_written(net(lambda x: overridden(kind, registered, function, x)), tmp_path, expected)


def test_signs_of_weights_hand_the_gradient_on(tmp_path):
    loss = net(lambda kernel: overridden("Sign", "Identity", tf.sign, kernel), of_weights=True)
    assert_written(loss, tmp_path, "lambda gradient, x: gradient, ")


def test_a_product_with_the_gradient_of_a_sum_hands_the_gradient_on_to_its_factors(tmp_path):
    """As binarized weights with a scale have it; here the scale is trained, too."""

    def scaled(kernel):
        with v1.get_default_graph().gradient_override_map({"Sign": "Identity", "Mul": "Add"}):
            return tf.sign(kernel) * tf.exp(kernel)

    _, source = assert_written(net(scaled, of_weights=True), tmp_path, "lambda gradient, x, y: [gradient, gradient], ")
    assert "with_derivatives(" in source.text


def test_a_function_with_a_custom_gradient_has_its_derivative(tmp_path):
    @tf.custom_gradient
    def clipped(one, other):
        def derivatives(gradient):
            return tf.clip_by_value(gradient * other, -0.25, 0.25), gradient * one

        return one * other, derivatives

    loss = net(lambda code: clipped(code, tf.tanh(code)))
    assert_written(loss, tmp_path, "lambda gradient, x, y: [tf.clip_by_value(gradient * y, -0.25, 0.25), gradient * x]")


def test_a_custom_gradient_that_is_the_usual_one_is_written_as_any_function(tmp_path):
    @tf.custom_gradient
    def squared(code):
        return code * code, lambda gradient: gradient * code + gradient * code

    _, source = assert_written(net(squared), tmp_path, "have the old graph's bits")
    assert "with_derivative" not in source.text


def test_a_custom_gradient_that_rounds_differently_is_written_as_it_is(tmp_path):
    """As `tf.nn.swish` of TensorFlow 1.13 and later, which computes its sigmoid again."""

    @tf.custom_gradient
    def swish(code):
        gate = tf.sigmoid(code)
        return code * gate, lambda gradient: gradient * (gate * (1.0 + code * (1.0 - gate)))

    _, source = assert_written(net(swish), tmp_path, "have the old graph's bits")
    assert "with_derivative" in source.text and not source.differing


def test_another_derivative_in_the_text_is_seen(tmp_path):
    setup = lifted(program(net(lambda x: overridden("Identity", "Reversed", tf.identity, x))), tmp_path)

    def not_reversed(text):
        assert "-gradient * 0.5" in text
        return text.replace("-gradient * 0.5", "gradient * 0.5")

    other = assert_workload_verified(setup, tmp_path, source_of(setup, "workload"), changed=not_reversed)
    assert not other.passed and other.first.stage == "gradients"


def test_a_derivative_takes_other_tensors_of_the_forward_pass(tmp_path):
    """As a gradient reversal whose strength is computed, for which each call registers a gradient of its own."""

    def reversed_by(x, scale):
        registered = f"ReversedBy{next(_NUMBERS)}"

        @tf.RegisterGradient(registered)
        def _scaled(op, gradient):
            return [-gradient * scale]

        return overridden("Identity", registered, tf.identity, x)

    loss = net(lambda x: reversed_by(x, tf.sigmoid(tf.reduce_mean(x))))
    assert_written(loss, tmp_path, "lambda gradient, x, y: -gradient * y, ")


def test_a_registered_gradient_that_equals_the_usual_one_is_no_override(tmp_path):
    setup, source = assert_written(
        net(lambda x: overridden("Relu", "UsualRelu", tf.nn.relu, x)), tmp_path, "tf.nn.relu("
    )
    assert "with_derivative" not in source.text
    graph = setup.job.workload.graph
    assert not override_sentences(with_overridden_gradients(graph), graph.nodes) and override_sentences(
        graph, graph.nodes
    )


def test_an_overridden_gradient_that_is_not_written_is_the_reason_of_a_refusal(tmp_path):
    setup = lifted(program(net(lambda x: overridden("Sign", "Noisy", tf.sign, x))), tmp_path)
    with pytest.raises(InputError, match="the gradient of 2 ops Sign is overridden by 'Noisy'"):
        source_of(setup)


def looped(kind, registered, function):
    """A function that three iterations of a loop apply."""

    def body(turn, x):
        return turn + 1, tf.tanh(overridden(kind, registered, function, x))

    return lambda x: v1.while_loop(lambda turn, _: turn < 3, body, [0, x])[1]


@pytest.fixture
def loops():
    """A function that says whether `while` loops are one op each, as of TensorFlow 2."""
    was_v2 = v1.control_flow_v2_enabled()
    yield lambda is_v2: (v1.enable_control_flow_v2 if is_v2 else v1.disable_control_flow_v2)()
    (v1.enable_control_flow_v2 if was_v2 else v1.disable_control_flow_v2)()


@pytest.mark.parametrize(
    "is_v2, reason",
    [(False, "the gradient of 2 ops Identity is overridden by 'Reversed'"), (True, "runs a function of the graph's")],
)
def test_an_overridden_gradient_in_a_loop_is_the_reason_of_a_refusal(is_v2, reason, loops, tmp_path):
    loops(is_v2)
    setup = lifted(program(net(looped("Identity", "Reversed", tf.identity))), tmp_path)
    with pytest.raises(InputError, match=reason):
        source_of(setup)


def test_a_custom_gradient_of_several_results_is_named_where_it_is_not_written(tmp_path):
    @tf.custom_gradient
    def both(x):
        return (tf.tanh(x), tf.square(x)), lambda first, second: 0.5 * first - 2.0 * second

    setup = lifted(program(net(lambda x: tf.add(*both(x)))), tmp_path)
    with pytest.raises(InputError, match="tf.custom_gradient decorates tower_0/IdentityN, tower_1/IdentityN"):
        source_of(setup)
