"""Slices of one tensor by constant bounds, of which each tower takes another."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.analysis.division.own_parts import takes_another_slice
from tests.legacy.saved.graphs import graph_of
from workloads.lifted.graph import TensorId

TEXT = """
    state = VariableV2()
    other = VariableV2()
    begin = Const()
    later = Const()
    again = Const()
    size = Const()
    first = Slice(state, begin, size)
    second = Slice(state, later, size)
    same = Slice(state, again, size)
    elsewhere = Slice(other, later, size)
    copy = Identity(state)
    """
VALUES = {"begin": [0, 0], "later": [2, 0], "again": [0, 0], "size": [2, 3]}


@pytest.mark.parametrize(
    ("other", "expected"), [("second", True), ("same", False), ("elsewhere", False), ("copy", False), ("first", False)]
)
def test_other_bounds_of_the_same_tensor_are_another_slice(other, expected):
    constants = {name: {"dtype": tf.int32, "value": np.array(value, np.int32)} for name, value in VALUES.items()}
    graph = graph_of(TEXT, **constants)
    assert takes_another_slice(graph, TensorId("first", 0), TensorId(other, 0)) is expected


def test_a_computed_bound_is_none_and_the_graph_stays_as_it_is():
    """Asking a node for an attribute that it lacks would add one, and TensorFlow refuses such a node."""
    graph = graph_of(TEXT.replace("size = Const()", "size = Pack(begin)"))
    before = graph.graph_def.SerializeToString(deterministic=True)
    assert not takes_another_slice(graph, TensorId("first", 0), TensorId("second", 0))
    assert graph.graph_def.SerializeToString(deterministic=True) == before
