"""The variable whose value a node hands on."""

import pytest

from legacy.saved.hazards.basics.variable_reads import READS_IN_BRANCHES, variable_read
from tests.legacy.saved.graphs import graph_of

GRAPH = graph_of(
    """
    w = VariableV2()
    x = Placeholder()
    read = Identity(w)
    cast = Cast(read)
    taken = Switch(cast, x)
    double = Mul(cast, cast)
    copy = Identity(x)
    """
)


@pytest.mark.parametrize(
    "name, variable, in_branches",
    [("w", "w", "w"), ("cast", "w", "w"), ("taken", "", "w"), ("double", "", ""), ("copy", "", "")],
)
def test_a_value_is_a_variables_by_way_of_reads_alone(name, variable, in_branches):
    assert variable_read(GRAPH, name) == variable
    assert variable_read(GRAPH, name, READS_IN_BRANCHES) == in_branches
