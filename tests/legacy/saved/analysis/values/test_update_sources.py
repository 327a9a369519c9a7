"""Towers that an update op gets its values from."""

import types

import pytest

from legacy.saved.analysis.values.update_sources import UpdateSources, tower_of_op, tower_read_back
from legacy.saved.tower_search.towers import Towers
from tests.legacy.saved.graphs import graph_of
from workloads.lifted.plan import Effect

GRAPH = graph_of(
    """
    x0 = Placeholder()
    a = Neg(x0)
    b = Neg(a)
    sum = AddN(a, b)
    one = Const()
    first = Assign(v, a)
    second = Assign(v, b)
    both = Assign(v, sum)
    none = Assign(v, one)
    v = VariableV2()
    """
)


@pytest.mark.parametrize("node, towers", [("first", [0]), ("second", [1]), ("both", [0, 1]), ("none", [])])
def test_updating_towers(node, towers):
    """b is another tower's crossing, so that what is behind it does not count."""
    phase = types.SimpleNamespace(crossings=[["a:0", None], [None, "b:0"]], effects=[])
    assert UpdateSources(GRAPH, phase).towers(Effect(node, "Assign", ["v"], [])) == towers


@pytest.mark.parametrize("first, second", [(0, 1), (1, 0), (0, 0)])
def test_a_row_of_a_split_is_of_the_tower_that_takes_it(first, second):
    graph = graph_of(
        f"""
        rows = Placeholder()
        axis = Const()
        parts = Split(axis, rows)
        used = ScatterSub(v, parts:{first}, one)
        other = Neg(parts:{second})
        changed = ScatterSub(v, other, one)
        one = Const()
        v = VariableV2()
        """
    )
    phase = types.SimpleNamespace(crossings=[["parts:0", None], [None, "parts:1"]], effects=[])
    sources = UpdateSources(graph, phase)
    assert sources.towers(Effect("used", "ScatterSub", ["v"], [])) == [first]
    assert sources.towers(Effect("changed", "ScatterSub", ["v"], [])) == [second]


@pytest.mark.parametrize("summed, towers", [("v/biased", [1]), ("u/biased", [])])
def test_an_average_corrected_for_its_zero_start_is_of_the_tower_of_its_sum(summed, towers):
    """Its own op reads that sum and a count, which are variables."""
    effects = [Effect("second", "Assign", [summed], []), Effect("none", "Assign", ["v"], [])]
    phase = types.SimpleNamespace(crossings=[["a:0", None], [None, "b:0"]], effects=effects)
    assert UpdateSources(GRAPH, phase).towers(effects[1]) == towers


@pytest.mark.parametrize(
    "masks, labels, tower",
    [({}, {"one": 1}, 1), ({}, {"v": 0}, None), ({}, {}, None), ({"none": 0b100}, {"one": 0}, 1)],
)
def test_an_assignment_of_no_data_is_of_the_tower_that_computes_its_value(masks, labels, tower):
    """It is placed where its variable is, as the vectors of a spectral norm that each tower assigns."""
    assert tower_of_op(GRAPH, Towers(2, "device", masks, labels, set()), "none") == tower


DEBIASED = graph_of(
    """
    biased = VariableV2()
    average = VariableV2()
    x0 = Placeholder()
    other = AssignSub(elsewhere, x0)
    update = AssignSub(biased, x0)
    read = Identity(biased, ^update)
    corrected = Sub(average, read)
    debiased = AssignSub(average, corrected)
    elsewhere = VariableV2()
    ready = Identity(average, ^other)
    waiting = AssignSub(average, ready)
    """
)


@pytest.mark.parametrize(
    "name, masks, tower",
    [
        ("debiased", {"update": 0b100}, 1),
        ("debiased", {"update": 0b110}, None),  # of both towers' data
        ("debiased", {}, None),
        ("waiting", {"other": 0b100}, None),  # what it waits for changes another variable
    ],
)
def test_an_average_that_a_tower_changes_and_reads_back_is_that_towers(name, masks, tower):
    assert tower_read_back(DEBIASED, Towers(2, "device", masks, {}, set()), name) == tower
