"""Sums of data in losses, and the quotients that are made of them."""

import pytest

from legacy.saved.analysis.loss_scale import has_sum
from tests.legacy.saved.graphs import graph_of

GRAPH = """
    x = Placeholder()
    w = VariableV2()
    four = Const()
    decay = L2Loss(w)
    sum = Sum(x)
    mean = RealDiv(sum, four)
    whole = {}
    """


@pytest.mark.parametrize(
    "whole, once",
    [
        ("Identity(mean)", True),
        ("AddV2(mean, decay)", True),  # a penalty beside it divides nothing
        ("RealDiv(mean, four)", False),  # the inner quotient is the mean over examples
        ("RealDiv(both, four)\n    both = AddV2(mean, decay)", False),
        ("RealDiv(sum, four)", True),
    ],
)
def test_a_sum_of_which_one_quotient_is_made(whole, once):
    graph = graph_of(GRAPH.format(whole))
    data = ["x", "sum", "mean", "whole", "both"]
    assert has_sum(graph, data, "whole", divided_once=True) == once
    assert has_sum(graph, data, "whole") and not has_sum(graph, data, "decay")
