"""Gradients of LSTM cells with the peepholes of two gates exchanged, and with those of the cell."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph.peepholes import exchanges_peepholes
from legacy.saved.hazards.models.peepholes import exchanged_peepholes
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.source.test_block_cells import with_peepholes

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
