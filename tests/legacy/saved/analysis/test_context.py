"""Context of a small graph of two towers."""

from legacy.saved.analysis.context import Context
from tests.legacy.saved.programs import two_towers


def context():
    return Context(two_towers(), ["w"])


def test_data_and_random_nodes_are_those_behind_placeholders_and_random_ops():
    found = context()
    assert found.random == {"tower_0/noise/RandomUniform", "tower_1/noise/RandomUniform"}
    assert {"x0", "tower_0/product", "tower_0/noise/RandomUniform", "mean"} <= found.data
    assert not {"w", "rate"} & found.data


def test_the_towers_meet_in_the_inputs_of_the_update_ops():
    found = context()
    assert found.towers.count == 2
    assert found.towers.tower_of("tower_1/product") == 1 and found.towers.tower_of("mean") is None


def test_signatures_are_recorded_once_asked_for_by_name():
    found = context()
    (product,) = [tensor for tensor in found.graph.inputs("tower_0/sum") if tensor[0] == "tower_0/product"]
    assert found.signature(product) == ("float32", (4, 2))
    assert found.tensors == {}, "a question does not record"
    assert found.names([product]) == ["tower_0/product:0"]
    assert tuple(found.tensors["tower_0/product:0"]) == ("float32", [4, 2])
    assert tuple(found.record_signature("w:0")) == ("float32", [2])
