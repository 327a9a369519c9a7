"""What TensorFlow refuses to import is told in one line."""

import pytest
import tensorflow as tf

from workloads.lifted.graph.importing import import_graph
from workloads.support.errors import InputError

v1 = tf.compat.v1


def graph_def(op="Neg"):
    """A graph of a constant and an op on it."""
    with tf.Graph().as_default() as graph:
        tf.negative(tf.constant(2.0, name="x"), name="y")
    made = graph.as_graph_def()
    made.node[1].op = op
    return made


def test_a_graph_is_imported_with_its_names():
    with tf.Graph().as_default():
        (y,) = import_graph(graph_def(), fetches=["y:0"])
        assert y.name == "y:0" and import_graph(v1.GraphDef()) == []


@pytest.mark.parametrize(
    "made, fetches", [(graph_def("NoSuchOp"), None), (graph_def(), ["z:0"]), (graph_def(), ["y:5"])]
)
def test_a_refusal_is_one_line(made, fetches):
    with tf.Graph().as_default(), pytest.raises(
        InputError, match="--workload: TensorFlow .* does not take this graph: "
    ):
        import_graph(made, fetches=fetches)
