"""The data flow of a labelled graph: the towers that each node depends on."""

from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.tower_search.labellings import labellings
from legacy.saved.tower_search.tower_flow import TowerFlow
from tests.legacy.saved.graphs import traced, two_towers


def flow_and_labelling():
    graph = traced(two_towers)
    inputs = [tensor for tensor in graph.inputs("train") if tensor.node != "w"]
    return TowerFlow(graph, ImportedGraph(graph), set(), inputs, ["w"]), next(labellings(graph))


def test_a_node_depends_on_the_tower_whose_nodes_lead_to_it():
    flow, labelling = flow_and_labelling()
    towers = flow.towers(labelling)
    assert towers.count == 2 and towers.found_by == labelling.found_by
    assert towers.tower_of("tower_0/product") == 0 and towers.tower_of("tower_1/loss") == 1
    assert towers.is_common("x") and towers.is_shared("train")


def test_one_label_for_all_nodes_is_one_tower():
    flow, labelling = flow_and_labelling()
    towers = flow.towers(labelling._replace(labels=dict.fromkeys(labelling.labels, 0)))
    assert towers.count == 1 and not towers.is_shared("train")
