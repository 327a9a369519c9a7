"""Numbers that are computed of a batch that towers share out."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.input_places.wholes import numbers_of_wholes
from legacy.saved.graph.imported import ImportedGraph
from tests.legacy.saved.graphs import traced
from workloads.lifted.graph import TensorId

v1 = tf.compat.v1


@pytest.mark.parametrize("outputs, found", [((0, 1), True), ((1, 0), False)])
def test_a_number_is_of_the_batch_that_the_parts_make_in_their_order(outputs, found):
    def build():
        lengths = v1.placeholder(tf.int32, [None], "lengths")
        tf.split(lengths, 2, name="parts")
        tf.reduce_sum(lengths, name="total")

    graph = traced(build)
    cuts = [[TensorId("parts", output), TensorId("total", 0)] for output in outputs]
    assert ("total" in numbers_of_wholes(graph, ImportedGraph(graph), cuts, [])) == found
