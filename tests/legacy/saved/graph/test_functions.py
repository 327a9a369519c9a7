"""Functions of a graph's library with gradient functions, as a layer norm of `Defun(compiled=True)` has one."""

import tensorflow as tf
from tensorflow.python.framework import function

from legacy.saved.graph.functions import call_gradient_functions, call_on_any_device
from tests.legacy.variants.programs import assert_same, lifted, mean_of, split_batch, towers, weights

v1 = tf.compat.v1


def squared(name, compiled=True):
    """A function of the library: the square, whose gradient function gives three times the input."""

    @function.Defun(tf.float32, tf.float32, func_name=f"{name}_grad", compiled=compiled)
    def gradient(x, factor):
        with tf.device("/gpu:0"):
            return 3.0 * x * factor

    def square(x):
        with tf.device("/gpu:0"):
            return x * x

    shapes = {"shape_func": lambda op: [op.inputs[0].shape]}
    return function.Defun(tf.float32, func_name=name, compiled=compiled, grad_func=gradient, **shapes)(square)


def graph_def_of(build):
    with tf.Graph().as_default() as graph:
        build()
    return graph.as_graph_def()


def gradient_of_a_square():
    x = v1.placeholder(tf.float32, [2], "x")
    tf.identity(tf.gradients(squared("square")(x), [x])[0], name="result")


def result(graph_def):
    with tf.Graph().as_default() as graph, v1.Session() as session:
        tf.import_graph_def(graph_def, name="")
        return session.run("result:0", {graph.get_tensor_by_name("x:0"): [1.0, 2.0]}).tolist()


def test_the_gradient_of_a_function_is_a_call_of_its_gradient_function():
    graph_def = graph_def_of(gradient_of_a_square)
    assert [node.op for node in graph_def.node].count("SymbolicGradient") == 1
    call_on_any_device(graph_def)
    call_gradient_functions(graph_def)
    ops = [node.op for node in graph_def.node]
    assert ops.count("square_grad") == 1 and "SymbolicGradient" not in ops
    assert result(graph_def) == [3.0, 6.0]


def distance(call=lambda x: x):
    """A function of the library without a gradient function: of two inputs, one of them of whole numbers."""

    def function_of(x, n):
        return tf.reduce_sum(tf.tanh(call(x)) * tf.cast(n, tf.float32))

    return function.Defun(tf.float32, tf.int32, func_name="distance")(function_of)


def gradient_of_a_distance(call=lambda x: x):
    x = v1.placeholder(tf.float32, [2], "x")
    tf.identity(tf.gradients(distance(call)(x, tf.constant([2, 3])), [x])[0], name="result")


def test_a_function_without_a_gradient_function_is_given_one():
    graph_def = graph_def_of(gradient_of_a_distance)
    expected = result(graph_def)
    call_gradient_functions(graph_def)
    assert [node.op for node in graph_def.node].count("distance_symbolic_gradient") == 1
    assert not any(node.op == "SymbolicGradient" for node in graph_def.node)
    assert result(graph_def) == expected and expected != [0.0, 0.0]


def test_the_gradient_of_a_function_that_calls_another_one_is_left():
    @function.Defun(tf.float32)
    def twice(x):
        return 2.0 * x

    graph_def = graph_def_of(lambda: gradient_of_a_distance(twice))
    call_gradient_functions(graph_def)
    assert [node.op for node in graph_def.node].count("SymbolicGradient") == 1


def test_towers_that_call_a_function_without_a_gradient_function_train_as_their_port(tmp_path):
    def build():
        call, parts = distance(), split_batch()
        losses = towers(lambda k: call(tf.matmul(parts[k], weights()), tf.constant([2, 3])))
        return mean_of([tf.gradients(loss, [weights()])[0] for loss in losses])

    assert_same(lifted(build, tmp_path), steps=3)


def test_functions_have_no_devices_and_are_not_compiled():
    graph_def = graph_def_of(gradient_of_a_square)
    assert "_XlaCompile" in str(graph_def) and "GPU:0" in str(graph_def.library)
    call_on_any_device(graph_def)
    assert "_Xla" not in str(graph_def) and "GPU:0" not in str(graph_def.library)


def test_towers_that_call_one_function_train_as_their_port(tmp_path):
    def build():
        square, xs = squared("squared"), split_batch()

        def gradient(tower):
            return tf.gradients(tf.reduce_sum(square(tf.matmul(xs[tower], weights()))), [weights()])[0]

        return mean_of(towers(gradient))

    setup = lifted(build, tmp_path)
    assert not setup.job.workload.plan.differences
    assert_same(setup)
