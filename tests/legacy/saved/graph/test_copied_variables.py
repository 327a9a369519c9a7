"""Assignments that copy a variable in another type, beside assignments of other values."""

import pytest

from legacy.saved.graph.assignments import assigned_variable, copied_variable
from tests.legacy.saved.graphs import graph_of

COPIES = """
    master = VariableV2()
    half = VariableV2()
    read = Identity(master)
    cast = Cast(read)
    copy = Assign(half, cast)
    same = Assign(half, read)
    sum = Add(cast, cast)
    other = Assign(half, sum)
    """


@pytest.mark.parametrize("node, variable", [("copy", "master"), ("same", None), ("other", None), ("sum", None)])
def test_a_copy_in_another_type_is_recognised(node, variable):
    assert copied_variable(graph_of(COPIES), node) == variable


@pytest.mark.parametrize("node, variable", [("copy", None), ("same", "master"), ("other", None), ("sum", None)])
def test_a_copy_as_it_is_is_recognised(node, variable):
    assert assigned_variable(graph_of(COPIES), node) == variable
