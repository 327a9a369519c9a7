"""Weights of scalars in a linear function of them, counted by hand."""

import numpy as np

from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.hazards.linear_weights import linear_weights
from tests.legacy.saved.graphs import graph_of, saved


def test_weights_of_a_linear_function():
    graph = graph_of(
        """
        a = Placeholder()
        b = Placeholder()
        c = Placeholder()
        half = Const()
        both = Pack(a, b)
        mean = Mean(both)
        less = Sub(mean, c)
        loss = RealDiv(less, half)
        bent = Square(loss)
        """,
        half={"value": np.array(0.5, np.float32)},
    )
    whole = WholeGraph(saved(graph))
    weights = linear_weights(whole, "loss")
    assert (weights["a"], weights["b"], weights["c"]) == (1.0, 1.0, -2.0)
    assert "a" not in linear_weights(whole, "bent")
