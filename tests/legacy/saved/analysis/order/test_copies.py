"""Copies of reference variables on other devices."""

import pytest

from legacy.saved.analysis.order.copies import copy_before
from tests.legacy.saved.graphs import graph_of
from workloads.lifted.graph import TensorId

TEXT = """
    v = VariableV2() @ /gpu:0
    read = Identity(v) @ {}
    handed = Identity(read) @ {}
"""


@pytest.mark.parametrize(
    "devices, copy",
    [
        (("/gpu:0", "/gpu:1"), "handed"),
        (("/device:GPU:1", "/gpu:1"), "read"),
        (("/gpu:0", "/device:GPU:0"), ""),
        (("/gpu:0", "/job:worker/gpu:0"), ""),
    ],
)
def test_a_value_is_copied_where_it_comes_to_another_device(devices, copy):
    graph = graph_of(TEXT.format(*devices))
    assert copy_before(graph, TensorId("handed", 0), "v") == copy
    assert copy_before(graph, TensorId("v", 0), "v") == ""
    assert copy_before(graph, TensorId("handed", 0), "another") is None
