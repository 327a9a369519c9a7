"""A partial order to which control dependencies are added."""

import types

from legacy.saved.analysis.order.chosen_order import ChosenOrder


def chosen_order(names):
    """The order of update ops that no path of the graph orders."""
    nothing = dict.fromkeys(names, 0)
    return ChosenOrder(types.SimpleNamespace(before=nothing))


def test_without_dependencies_the_given_order_is_kept():
    order = chosen_order(["a", "b", "c"])
    assert order.sorted(["c", "a", "b"]) == ["c", "a", "b"] and not order.is_before("a", "b")


def test_dependencies_hold_through_a_third_node_whichever_is_added_first():
    for edges in ([("a", "b"), ("b", "c")], [("b", "c"), ("a", "b")]):
        order = chosen_order(["a", "b", "c"])
        for edge in edges:
            order.add(*edge)
        assert order.is_before("a", "c") and not order.is_before("c", "a")
        assert order.sorted(["c", "b", "a"]) == ["a", "b", "c"]
