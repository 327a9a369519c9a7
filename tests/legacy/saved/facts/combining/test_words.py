"""The kind of a combination of gradients in words."""

import types

import pytest

from legacy.saved.facts.combining.words import combination_text
from tests.legacy.saved.graphs import graph_of
from workloads.lifted.plan import Combine


@pytest.mark.parametrize(
    "towers, kind, scale, loss_scale, text",
    [
        (2, "mean", 1.0, 1.0, "mean"),
        (2, "sum", 1.0, 1.0, "sum"),
        (2, "sum", 1.0, 0.5, "sum of losses that are divided by the towers: a mean"),
        (2, "concat", 1.0, 0.5, "concat of losses that are divided by the towers: a mean"),
        (1, "sum", 1.0, 1.0, "one tower alone; in a port of several replicas: sum"),  # nothing is combined in the graph
        (1, "concat", 1.0, 1.0, "one tower alone; in a port of several replicas: concat"),
        (1, "kept as written", 1.0, 1.0, "kept as written"),
        (1, "sum", 0.25, 1.0, "sum, scaled by 0.25"),
    ],
)
def test_one_towers_gradients_are_not_said_to_be_combined(towers, kind, scale, loss_scale, text):
    combine = Combine("w", kind, "sum:0", scale, [[f"g{tower}:0"] for tower in range(towers)])
    phase = types.SimpleNamespace(effects=[], loss_scale=loss_scale, shared_loss=False, losses=[])
    graph = graph_of("g0 = Neg()\ng1 = Neg()\nsum = AddN(g0, g1)")
    analysed = types.SimpleNamespace(
        plan=types.SimpleNamespace(towers=towers, batch=4),
        graph=graph,
        imported=None,
        may_be_its_own=lambda phase: False,
        probe=types.SimpleNamespace(weights=lambda combine: None),
    )
    assert combination_text(analysed, phase, combine) == text
