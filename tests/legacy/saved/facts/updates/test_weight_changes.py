"""Weights that are set besides their update."""

import types

import pytest

from legacy.saved.facts.updates.weight_changes import set_besides
from tests.legacy.saved.graphs import graph_of


@pytest.mark.parametrize(
    "names, text",
    [
        (["a"], "train: 1 weight is set by Assign besides its update: a"),
        (["a", "b"], "train: 2 weights are set by Assign besides their update: a, b"),
        (["a", "b", "a", "b"], "train: 2 weights are set by Assign besides their update, by 2 ops each: a, b"),
        (list("abcdefg"), "train: 7 weights are set by Assign besides their update: a, b, c, d, e, f and 1 more"),
    ],
)
def test_weights_that_are_set_besides_their_update(names, text):
    effects = [
        types.SimpleNamespace(
            node=f"set_{name}", op="Assign", writes=[name], values=["x:0"], gradient=None, condition=None
        )
        for name in names
    ]
    variables = [types.SimpleNamespace(name=name, role="weight") for name in names]
    graph = graph_of("x = Const()")
    step = types.SimpleNamespace(
        plan=types.SimpleNamespace(variables=variables),
        rules=set(),
        context=types.SimpleNamespace(state=types.SimpleNamespace(writes={}), graph=graph),
        graph=graph,
        clippings=types.SimpleNamespace(text=lambda nodes: ""),
    )
    assert list(set_besides(step, types.SimpleNamespace(train_op="train", effects=effects))) == [text]
