"""Data that go from a loop to that of its gradient by way of a stack."""

import pytest

from tests.legacy.saved.graphs import graph_of

TEXT = """
    data = Placeholder()
    handle = StackV2()
    other = StackV2()
    forward = Enter(handle)
    push = StackPushV2(forward, data)
    backward = Enter(handle)
    pop = StackPopV2(backward)
    gradient = Mul(pop)
    unlike = StackPopV2(other)
    """


def test_what_is_popped_depends_on_what_was_pushed():
    graph = graph_of(TEXT)
    assert "data" in graph.ancestors(["gradient"], controls=False)
    assert "gradient" in graph.descendants(["data"], controls=False)
    assert "data" not in graph.ancestors(["unlike"], controls=False)


@pytest.mark.parametrize("last", ["unlike", "push"])
def test_bits_go_by_way_of_a_stack_whichever_end_comes_first(last):
    graph = graph_of(TEXT)
    ordered = [name for name in graph.nodes if name != last] + [last]
    arriving = graph.flow(ordered, {"data": 4}, controls=False)
    assert arriving["gradient"] == 4 and arriving["unlike"] == 0
