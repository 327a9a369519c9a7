"""All checks together, of a graph alone and with its analysis."""

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.hazards.search import find_hazards
from tests.legacy.saved.graphs import graph_of, saved
from tests.legacy.saved.programs import saved_two_towers

NOT_APPLIED = """
    tower_0/y = Neg(x)
    gradients/tower_0/y_grad/Neg = Neg(tower_0/y)
    tower_1/y = Neg(x)
    gradients/tower_1/y_grad/Neg = Neg(tower_1/y)
    x = Placeholder()
    """


def test_a_graph_that_trains_nothing_is_checked_without_an_analysis():
    (row,) = find_hazards(saved(graph_of(NOT_APPLIED)))
    assert row["hazard"] == "GRADIENTS_NOT_APPLIED" and list(row) == ["hazard", "op", "what", "in tf.distribute"]


def test_an_analysis_adds_checks():
    graph = saved_two_towers()
    assert find_hazards(graph) == []
    (row,) = find_hazards(graph, analyse_graph(graph, "small"))
    assert (row["hazard"], row["op"]) == ("STATISTICS_OF_ONE_TOWER", "seen")
