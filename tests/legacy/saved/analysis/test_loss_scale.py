"""Sums of data in losses, and the quotients that are made of them."""

import pytest

from legacy.saved.analysis.loss_scale import has_sum, may_be_its_own
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


@pytest.mark.parametrize(
    "whole, towers, expected",
    [
        ("RealDiv(both, two)\n    both = Sub(minus, q)", 2, True),  # two negative likelihoods are averaged
        ("RealDiv(both, two)\n    both = Sub(minus, q)", 3, False),
        ("RealDiv(both, two)\n    both = Neg(sum)\n    sum = AddV2(p, q)", 2, True),
        ("RealDiv(both, two)\n    both = Sub(minus, half)\n    half = Mul(q, two)", 2, False),  # weighted
        ("RealDiv(both, two)\n    both = Mean(margin)\n    margin = Sub(p, q)", 2, False),  # of each example
        ("RealDiv(minus, two)", 2, False),
    ],
)
def test_a_mean_of_two_likelihoods_is_no_division_by_two_towers(whole, towers, expected):
    graph = graph_of(
        f"""
        x = Placeholder()
        two = Const()
        p = Mean(x)
        q = Mean(x)
        minus = Neg(p)
        whole = {whole}
        """
    )
    data = set(graph.nodes) - {"two"}
    assert may_be_its_own(graph, data, "whole", towers) is expected
