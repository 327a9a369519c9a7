"""The tensor whose elements another one holds."""

from legacy.saved.hazards.basics.elements import source_of_elements
from tests.legacy.saved.graphs import graph_of
from workloads.lifted.graph import TensorId

GRAPH = "x = Placeholder()\n y = Square(x)\n a = Reshape(y)\n b = Identity(a)\n c = Cast(b)"


def test_ops_that_hand_elements_on_are_passed_and_others_are_not():
    graph = graph_of(GRAPH)
    assert source_of_elements(graph, TensorId("c", 0)) == TensorId("y", 0)
    assert source_of_elements(graph, TensorId("x", 0)) == TensorId("x", 0)
