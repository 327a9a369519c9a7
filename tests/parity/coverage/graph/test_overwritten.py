"""Assignments that a later one of the same step replaces before anything reads them."""

from parity.coverage.graph.overwritten import find_overwritten
from tests.legacy.saved.graphs import graph_of

#: Two towers assign one moving mean, each from what it counted itself; the second one last.
TOWERS = """
    mean = VariableV2()
    read = Identity(mean)
    first = Square(x0)
    second = Square(x1)
    x0 = Placeholder()
    x1 = Placeholder()
    assign0 = Assign(mean, first)
    assign1 = Assign(mean, second, ^assign0)
    train = NoOp(^assign0, ^assign1)
    """


def overwritten(text):
    graph = graph_of(text)
    return find_overwritten(graph, graph.ancestors(["train"]))


def test_the_earlier_of_two_assignments_is_replaced():
    assert overwritten(TOWERS) == {"assign0"}
    assert overwritten(TOWERS.replace(", ^assign0)", ")")) == set()  # in any order


def test_what_is_read_in_between_or_in_any_order_is_not_replaced():
    assert overwritten(TOWERS.replace("Square(x1)", "Mul(x1, read)")) == set()
    assert overwritten(TOWERS.replace("Square(x1)", "Mul(x1, assign0)")) == set()
    shown = TOWERS.replace("NoOp(^assign0", "NoOp(^shown, ^assign0")
    assert overwritten(shown + "shown = Square(read)") == set()
    assert overwritten(shown + "shown = Square(read, ^assign1)") == {"assign0"}
    assert overwritten(TOWERS.replace("Square(x0)", "Mul(x0, read)")) == {"assign0"}


def test_an_assignment_that_adds_replaces_nothing():
    assert overwritten(TOWERS.replace("assign1 = Assign", "assign1 = AssignAdd")) == set()
    assert overwritten(TOWERS.replace("assign0 = Assign", "assign0 = AssignAdd")) == {"assign0"}
