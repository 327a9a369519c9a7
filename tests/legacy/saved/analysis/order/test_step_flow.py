"""Paths between reads and updates, on a graph of a few nodes."""

import types

from legacy.saved.analysis.order.step_flow import StepFlow
from tests.legacy.saved.graphs import graph_of


def test_reads_without_a_path_to_or_from_the_update_race():
    graph = graph_of(
        """
        v = VariableV2()
        new = Neg(v)
        update = Assign(v, new)
        shown = Square(v)
        size = Shape(v)
        """
    )
    state = types.SimpleNamespace(
        reads={"new": ["v"], "shown": ["v"], "size": ["v"]}, writes={"update": ["v"]}, view_uses={}, passes={}
    )
    flow = StepFlow(graph, state, set(graph.nodes))
    assert (flow.effects, dict(flow.updates)) == (["update"], {"v": ["update"]})
    assert flow.racing == ["shown"] and sorted(flow.readers["v"]) == ["new", "shown"]
    assert flow.effects_behind["new"] == flow.bit["update"] == flow.bits(["update", "v"])
    assert flow.effects_behind["shown"] == flow.effects_before["shown"] == 0
