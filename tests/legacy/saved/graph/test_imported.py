import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import function

from legacy.saved.graph.imported import ImportedGraph, imported_graph, without_placement
from tests.legacy.saved.graphs import graph_of, traced
from workloads.support.errors import InputError

v1 = tf.compat.v1


def build():
    with tf.device("/gpu:7"):
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        any_rank = v1.placeholder(tf.int64, name="any_rank")
        w = v1.get_variable("w", [3], use_resource=False)
        handle = v1.get_variable("r", [3], use_resource=True)
        tf.multiply(x, w, name="product")
        v1.assign(w, tf.constant([1.0, 2.0, 4.0], name="ones"), name="assign")
        tf.split(tf.identity(any_rank), 2, name="halves", axis=0)
        tf.raw_ops.ReadVariableOp(resource=handle.handle, dtype=tf.float32, name="read")


@pytest.fixture(scope="module")
def graph():
    return traced(build)


@pytest.fixture(scope="module")
def imported(graph):
    return ImportedGraph(graph)


def test_shapes_and_dtypes_are_static(imported):
    assert imported.shape("x") == (None, 3) and imported.dtype("x") == "float32"
    assert imported.shape("any_rank") is None and imported.dtype("any_rank") == "int64"
    assert imported.shape("w") == (3,) and imported.dtype("w") == "float32"  # not float32_ref
    assert imported.outputs("halves") == 2


def test_nothing_is_known_of_a_node_that_the_graph_lacks(imported):
    assert imported.shape("elsewhere") is None and imported.constant("elsewhere") is None


def test_only_constants_have_values(imported):
    assert np.array_equal(imported.constant("ones"), [1.0, 2.0, 4.0])
    assert imported.constant("x") is None


def test_an_assignment_takes_a_reference_but_a_product_takes_the_value(imported):
    assert imported.takes_reference("assign", 0) and not imported.takes_reference("assign", 1)
    assert not imported.takes_reference("product", 1)
    assert imported.takes_reference("read", 0)  # a handle


def test_devices_are_forgotten_and_the_graph_is_left_alone(graph):
    assert {node.device for node in without_placement(graph).node} == {""}
    assert graph.nodes["x"].device == "/device:GPU:7"


def test_a_graph_that_tensorflow_refuses_is_named_with_the_reason():
    with pytest.raises(InputError, match="does not take this graph"):
        ImportedGraph(graph_of("y = Square(x)"))


@pytest.mark.parametrize("more, is_known", [(0, True), (1, False)])
def test_constants_of_many_elements_are_not_computed(more, is_known, monkeypatch):
    monkeypatch.setattr("legacy.saved.graph.imported.MOST_ELEMENTS", 8)
    found = ImportedGraph(traced(lambda: tf.fill([8 + more], 2.0, name="twos"))).constant("twos")
    assert (found is not None) == is_known


@pytest.mark.parametrize("declared, shape", [(tf.TensorShape([]), ()), (tf.TensorShape(None), None)])
def test_a_variable_of_0_12_without_dimensions_is_a_scalar(declared, shape):
    graph = graph_of(
        "v = Variable()\nread = Identity(v)",
        v={"shape": declared, "dtype": tf.float32},
        read={"T": tf.float32},
    )
    assert ImportedGraph(graph).shape("read") == shape


@pytest.mark.parametrize("body, shape", [(lambda x: x, (4, 3)), (lambda x: -x, None)])
def test_the_call_of_a_function_that_gives_its_argument_has_its_shape(body, shape):
    def build():
        shown = function.Defun(tf.float32, func_name="shown", shape_func=lambda op: [op.inputs[0].shape])(body)
        tf.identity(shown(tf.ones([4, 3])), name="result")

    graph = traced(build)
    assert any(node.op == "shown" for node in graph.nodes.values())
    assert ImportedGraph(graph).shape("result") == shape


def test_a_graph_that_was_asked_for_lately_is_not_imported_again(monkeypatch):
    """So that what asks for each of many ops, as for the usual derivatives of those overridden, imports it once."""
    made = []
    make = ImportedGraph.__init__
    monkeypatch.setattr(ImportedGraph, "__init__", lambda self, graph: made.append(graph) or make(self, graph))
    one, other = traced(build), traced(build)
    assert imported_graph(one) is imported_graph(one) and imported_graph(one) is not imported_graph(other)
    assert imported_graph(other).shape("x") == (None, 3) and made == [one, other]
    assert ImportedGraph(one) is not ImportedGraph(one)  # of one's own
