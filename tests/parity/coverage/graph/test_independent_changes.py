"""Constants that reach variables of their own alone, on graphs written by hand."""

import pytest

from parity.coverage.graph.independent_changes import OwnVariables, disjoint_groups
from tests.legacy.saved.graphs import graph_of

STEP = """
    x = Placeholder()
    w = VariableV2()
    mean = VariableV2()
    loss = Mul(x, {taken})
    read = Identity(mean)
    gap = Sub(read, x)
    decay = Const()
    part = Mul(gap, {decay})
    move = AssignSub(mean, part)
    rate = Const()
    train = ApplyGradientDescent(w, rate, loss)
    """


def reached_by_decay(taken="w", decay="decay", more=""):
    graph = graph_of(STEP.format(taken=taken, decay=decay) + more)
    changing = {"move", "train"} | ({"other"} if more else set())
    own = OwnVariables(graph, set(graph.nodes), changing, {"loss"})
    return own.reached(["decay"])


def test_a_statistics_decay_reaches_that_statistic_and_its_read():
    reached, variables = reached_by_decay()
    assert variables == {"mean"}
    assert reached == {"decay", "part", "move", "mean", "read", "gap"}


@pytest.mark.parametrize("taken", ["mean", "read"])
def test_a_statistic_that_a_compared_result_reads_is_not_its_own(taken):
    """The read may come after the change, as may that of a forward pass which waits for the statistics."""
    assert reached_by_decay(taken) is None


def test_a_statistic_that_another_variable_follows_is_reached_with_it():
    more = "m2 = VariableV2()\nother = AssignSub(m2, read)\n"
    assert reached_by_decay(more=more)[1] == {"mean", "m2"}


def test_a_constant_of_the_trained_weights_is_not_their_own():
    graph = graph_of(STEP.format(taken="w", decay="decay"))
    own = OwnVariables(graph, set(graph.nodes), {"move", "train"}, {"loss"})
    assert own.reached(["rate"]) is None


def test_what_is_changed_behind_a_switch_is_not_known():
    text = STEP.format(taken="w", decay="decay").replace("AssignSub(mean, part)", "AssignSub(enter, part)")
    graph = graph_of(text + "enter = Switch(mean, few)\nfew = Const()\n")
    own = OwnVariables(graph, set(graph.nodes), {"move", "train"}, {"loss"})
    assert own.reached(["decay"]) is None


def test_sets_with_a_common_element_are_in_other_groups():
    assert disjoint_groups([{"a"}, {"a"}, {"b"}, {"a"}]) == [[0, 2], [1], [3]]
