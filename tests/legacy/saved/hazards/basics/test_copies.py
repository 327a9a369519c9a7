"""Copies of variables: which variable an assignment sets another to, and what computes with a variable."""

import types

from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.copies import are_copies, masters_of_copies, readers_of_variable
from tests.legacy.saved.graphs import graph_of

GRAPH = graph_of(
    """
    w = VariableV2()
    copy = VariableV2()
    begun = Const()
    x = Placeholder()
    read = Identity(w)
    again = Identity(read)
    product = Mul(again, x)
    set = Assign(copy, read)
    init = Assign(w, begun)
    asked = IsVariableInitialized(w)
    """
)


def whole(**fields):
    writes = {"set": "copy", "init": "w"}
    assert {GRAPH.type(name) for name in writes} <= set(op_types.SETS)
    return types.SimpleNamespace(graph=GRAPH, writes=writes, **fields)


def test_a_copy_is_set_to_its_master_and_initializers_are_no_masters():
    assert masters_of_copies(whole()) == {"copy": "w"}


def test_what_computes_with_a_variable_is_found_through_its_reads():
    assert readers_of_variable(whole(), "w") - {"read", "again"} == {"product"}


def test_copies_are_equally_many_in_each_tower():
    towers = whole(count=2)
    assert are_copies(towers, {"a": {0}, "b": {1}})
    assert not are_copies(towers, {"a": {0}})
    assert not are_copies(towers, {"a": {0}, "b": {1}, "c": {1}})
    assert not are_copies(towers, {"a": {0}, "b": {1}, "c": {0, 1}})
