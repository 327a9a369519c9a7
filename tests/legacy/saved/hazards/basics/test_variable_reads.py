"""The variable whose value a node hands on."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.basics.variable_reads import READS_IN_BRANCHES, variable_read, variable_sizes
from tests.legacy.saved.graphs import graph_of, saved, traced

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


def test_the_sizes_of_a_variable_are_its_dimensions():
    def build():
        for name, shape in (("matrix", [3, 4]), ("number", [])):
            tf.compat.v1.get_variable(name, shape, use_resource=False)

    graph = saved(traced(build)).graph
    assert variable_sizes(graph, "matrix") == [3, 4] and variable_sizes(graph, "number") == []
    assert variable_sizes(GRAPH, "w") == [], "a variable of unknown rank"
