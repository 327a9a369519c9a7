"""Nodes without data that each tower has: numbers of rows, and gradients behind linear layers."""

from legacy.saved.inputs.nodes_without_data import gradients_without_data, numbers_of_rows
from tests.legacy.saved.graphs import graph_of

LABELS = {"rows_0": 0, "look_0": 0, "rows_1": 1, "look_1": 1}


def lookups():
    return graph_of("""
        table = VariableV2()
        rows_0 = Range()
        rows_1 = Range()
        look_0 = GatherV2(table, rows_0)
        look_1 = GatherV2(table, rows_1)
    """)


def test_numbers_of_rows_that_every_tower_makes_count():
    assert numbers_of_rows(lookups(), {}, LABELS, {"look_0", "look_1"}) == {"rows_0", "rows_1"}


def test_numbers_that_are_data_or_of_one_tower_alone_do_not_count():
    assert numbers_of_rows(lookups(), {"rows_1": 5}, LABELS, {"look_0", "look_1"}) == set()
    assert numbers_of_rows(lookups(), {}, LABELS, {"look_0"}) == set()


def test_gradients_without_data_count_if_every_tower_has_some():
    graph = graph_of("""
        w = VariableV2()
        gradients/a_grad/Mul = Mul(w, w)
        gradients/b_grad/Mul = Mul(w, w)
        sum = AddN(gradients/a_grad/Mul, gradients/b_grad/Mul)
    """)
    both = {"gradients/a_grad/Mul": 0, "gradients/b_grad/Mul": 1}
    assert gradients_without_data(graph, ["sum"], {}, both) == set(both)
    assert gradients_without_data(graph, [], {}, both) == set()
    assert gradients_without_data(graph, ["sum"], {"gradients/a_grad/Mul": 3}, both) == set()
