"""Towers that the names or devices of a graph suggest."""

import pytest

from legacy.saved.facts.tower_labels import suggested_labels
from tests.legacy.saved.facts.test_whole_graph import TOWERS
from tests.legacy.saved.graphs import graph_of


def suggested(text):
    return suggested_labels(graph_of(text), None)


def test_towers_by_their_devices_where_names_do_not_tell():
    found_by, labels = suggested(TOWERS.replace("tower_0/", "left").replace("tower_1/", "right"))
    assert found_by == "device /gpu:k" and set(labels.values()) == {0, 1}


@pytest.mark.parametrize(
    "text",
    [
        TOWERS.replace("tower_1/y = Mul(w/read)", "tower_1/y = Mul(tower_0/y)"),  # layers: one feeds the next
        TOWERS.replace("y_grad", "y_forward"),  # nothing is computed backwards
    ],
)
def test_labels_that_are_no_towers(text):
    assert suggested(text) == ("no towers were told apart", {})
