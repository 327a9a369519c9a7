"""Layers of towers behind results that all towers exchange, on graphs whose nodes are labelled by hand."""

import pytest

from legacy.saved.tower_search.exchanging_layers import layers_behind_exchanges, weights_used
from tests.legacy.saved.graphs import graph_of

#: A layer, the mean of both towers' results, and a second layer that takes it.
TEXT = """
    w = VariableV2()
    v = VariableV2()
    u = VariableV2()
    read = Identity(v)
    x0 = Placeholder()
    x1 = Placeholder()
    a0 = MatMul(x0, w)
    a1 = MatMul(x1, w)
    sum = AddN(a0, a1)
    mean = Mul(sum, sum)
    b0 = Sub(a0, mean)
    b1 = Sub(a1, mean)
    c0 = MatMul(b0, read)
    c1 = MatMul(b1, read)
"""
LABELS = {"a0": 0, "a1": 1, "sum": 0, "mean": 0, "b0": 0, "b1": 1, "c0": 0, "c1": 1}


def layers(text=TEXT, labels=LABELS, left_out=()):
    masks = {"x0": 1, "x1": 1, "a0": 3, "a1": 5, **dict.fromkeys(["sum", "mean", "b0", "b1", "c0", "c1"], 7)}
    graph = graph_of(text)
    return layers_behind_exchanges(graph, masks, labels, {"w", "v", "u"}, graph.nodes.keys() - set(left_out))


def test_layers_with_the_same_weights_continue_their_towers_behind_the_mean_of_all():
    assert layers() == ({"b0", "b1", "c0", "c1"}, {"sum", "mean"})
    unlabelled = {name: tower for name, tower in LABELS.items() if name not in ("sum", "mean")}
    assert layers(labels=unlabelled) == ({"b0", "b1", "c0", "c1"}, set())


def test_what_each_tower_makes_of_all_results_for_itself_is_its_own():
    text = TEXT.replace("b0 = Sub(a0, mean)", "b0 = ConcatV2(a0, a1)").replace(
        "b1 = Sub(a1, mean)", "b1 = ConcatV2(a1, a0)"
    )
    assert layers(text) == ({"sum", "mean", "b0", "b1", "c0", "c1"}, set()), "nothing uses the mean here"


@pytest.mark.parametrize(
    "second",
    [
        "c1 = MatMul(b1, u)",  # other weights: layers on two devices
        "c1 = Neg(b1)",  # one tower alone has a layer there
        "c1 = MatMul(a1, w)",  # nothing of the other tower reaches it
    ],
)
def test_layers_that_not_every_tower_has_continue_none(second):
    labels = {name: tower for name, tower in LABELS.items() if "Neg" not in second or name != "b1"}
    assert layers(TEXT.replace("c1 = MatMul(b1, read)", second), labels) == (set(), set())


def test_what_no_loss_is_computed_by_is_no_layer():
    """An update op takes its weight, and the gradients of all towers; its name may have a number, too."""
    assert layers(left_out=["c1"]) == (set(), set())


def test_results_without_weights_behind_them_continue_no_tower():
    """A loss that is divided by all towers' words."""
    text = TEXT.replace("MatMul(b0, read)", "Neg(b0)").replace("MatMul(b1, read)", "Neg(b1)")
    assert layers(text) == (set(), set())


def test_a_weight_is_used_by_way_of_its_read():
    graph = graph_of(TEXT)
    weights = {"w", "v", "u"}
    assert weights_used(graph, "c0", weights) == ["v"] and weights_used(graph, "a0", weights) == ["w"]
    assert weights_used(graph, "b0", weights) == [], "negative control: a result is no weight"
