"""A step of two towers, whose nodes are labelled by hand."""

from __future__ import annotations

import types

from legacy.saved.analysis.division.labelled_step import LabelledStep
from legacy.saved.analysis.order.ordering import Order
from legacy.saved.tower_search.batch_slices import DATA
from legacy.saved.tower_search.towers import Towers
from tests.legacy.saved.graphs import graph_of
from workloads.lifted.graph import TensorId

STEP = """
    w = VariableV2()
    rate = Const()
    x0 = Placeholder()
    x1 = Placeholder()
    a = Mul(x0, w)
    b = Mul(x1, w)
    sum = AddN(a, b)
    train = ApplyGradientDescent(w, rate, sum)
    """
STEP_TOWERS = {"a": 0, "b": 1}


def labelled_step(
    text, towers, rules=("train",), writes=None, reads=None, versions=None, losses=(), constants=(), data=("x0", "x1")
):
    """A step that runs all nodes; `towers` is {node: tower}, `data` is before them."""
    graph = graph_of(text)
    writes = writes or {"train": ["w"]}
    state = types.SimpleNamespace(
        aliases={TensorId(name, 0): name for name in graph.nodes if graph.type(name) == "VariableV2"},
        reads=reads or {},
        writes=writes,
        rules=set(rules),
    )
    imported = types.SimpleNamespace(
        constant=lambda name, output: 2.0 if name in constants else None,
        shape=lambda name, output=0: None,
        dtype=lambda name, output=0: "float32",
    )
    masks = dict({name: DATA for name in data}, **{name: DATA | 2 << tower for name, tower in towers.items()})
    order = Order(list(writes), versions or {}, [], [])
    labelled = Towers(2, "labels by hand", masks, dict(towers), set())
    tensors = [TensorId(name, 0) for name in losses]
    return LabelledStep(graph, imported, state, labelled, set(graph.nodes), order, tensors)
