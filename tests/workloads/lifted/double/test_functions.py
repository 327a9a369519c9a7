"""Functions in float64: bodies, calls between functions, formulas and branches in them."""

import numpy as np
import pytest
import tensorflow as tf

from workloads.lifted.double.errors import NotInDouble
from workloads.lifted.double.functions import FunctionLibrary
from workloads.lifted.double.graph_rewriter import GraphRewriter
from workloads.lifted.graph import Graph

v1 = tf.compat.v1


def rewritten(build):
    """The GraphDef, in float64, of a graph in which `build` makes the tensor "result" from the placeholder "x"."""
    with tf.Graph().as_default() as made:
        tf.identity(build(v1.placeholder(tf.float32, [2, 1, 1, 1], name="x")), name="result")
    graph = Graph(made.as_graph_def())
    library = FunctionLibrary(graph.graph_def.library)
    found = GraphRewriter(graph, library.signatures, library.double, list(graph.nodes), varying=graph.nodes).rewrite()
    library.add(found.functions)
    graph_def = v1.GraphDef(library=library.result())
    graph_def.node.extend(found.nodes)
    return graph_def


def computed(graph_def, x):
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        tf.import_graph_def(graph_def, name="")
        return session.run("result:0", {"x:0": np.reshape(x, (2, 1, 1, 1))}).ravel()


def third(x):
    return tf.function(lambda value: value / 3.0, autograph=False)(x)


def test_a_function_and_one_that_it_calls_are_float64():
    graph_def = rewritten(lambda x: tf.function(lambda value: third(value) + 1.0, autograph=False)(x))
    result = computed(graph_def, [1.0, 2.0])
    assert result.dtype == np.float64 and list(result) == [1 / 3 + 1, 2 / 3 + 1]
    names = [function.signature.name for function in graph_def.library.function]
    assert len(names) == 4 and sum(name.endswith("_in_float64") for name in names) == 2  # the old ones stay


def test_a_formula_in_a_function():
    def normalize(x):
        one = tf.ones([1])
        return v1.nn.fused_batch_norm(x, one, one, epsilon=0.25, is_training=True)[0]

    result = computed(rewritten(lambda x: tf.function(normalize, autograph=False)(x)), [1.0, 3.0])
    np.testing.assert_allclose(result, 1 + np.array([-1, 1]) / np.sqrt(1.25), rtol=1e-15)


def test_branches_that_are_functions():
    def build(x):
        return tf.function(lambda value: tf.cond(tf.reduce_sum(value) > 0, lambda: value / 3.0, lambda: value / 7.0))(x)

    graph_def = rewritten(build)
    assert list(computed(graph_def, [1.0, 2.0])) == [1 / 3, 2 / 3]
    assert list(computed(graph_def, [-1.0, 0.5])) == [-1 / 7, 0.5 / 7]


def test_an_op_of_float32_in_a_function_is_named():
    def build(x):
        return tf.function(lambda value: tf.quantization.fake_quant_with_min_max_args(value))(x)

    with pytest.raises(NotInDouble, match="^FakeQuantWithMinMaxArgs .* has no form in float64$"):
        rewritten(build)
