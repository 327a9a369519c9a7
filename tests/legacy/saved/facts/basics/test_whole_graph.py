"""A whole graph: its towers, update rules, and values read from it."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph, ancestors_of_tensors, scalar_constant
from tests.legacy.saved.graphs import graph_of, saved, traced

TOWERS = """
    w = VariableV2()
    w/read = Identity(w)
    tower_0/y = Mul(w/read) @ /gpu:0
    gradients/tower_0/y_grad/Mul = Mul(tower_0/y) @ /gpu:0
    tower_1/y = Mul(w/read) @ /gpu:1
    gradients/tower_1/y_grad/Mul = Mul(tower_1/y) @ /gpu:1
    sum = AddN(gradients/tower_0/y_grad/Mul, gradients/tower_1/y_grad/Mul)
    train = ApplyGradientDescent(w, sum)
    """


def whole(text, **attributes):
    return WholeGraph(saved(graph_of(text, **attributes), trainable_variables=["w"]))


def test_towers_by_their_names():
    found = whole(TOWERS)
    assert found.count == 2 and found.found_by.startswith("name scope tower") and list(found.towers()) == [0, 1]
    assert found.labels == {
        "tower_0/y": 0,
        "gradients/tower_0/y_grad/Mul": 0,
        "tower_1/y": 1,
        "gradients/tower_1/y_grad/Mul": 1,
    }
    assert found.backward(1) == ["gradients/tower_1/y_grad/Mul"]
    assert found.towers_of(["tower_1/y", "sum"]) == {1}


def test_what_computes_with_data_in_the_scope_of_a_variables_name_belongs_to_its_tower():
    """As in `tf.variable_scope("w")` with `tf.get_variable("", ...)`: the layer is no read of its variable."""
    found = whole(
        TOWERS
        + """
        x = Placeholder()
        tower_0/u = VariableV2()
        tower_0/u/read = Identity(tower_0/u)
        tower_0/u/layer = Mul(tower_0/u/read, x)
        tower_0/u/set = Assign(tower_0/u, x)
        """
    )
    assert [name for name in found.labels if name.startswith("tower_0/u")] == ["tower_0/u/layer"]


def test_update_rules_and_what_they_depend_on():
    found = whole(TOWERS + "unused = Neg(w/read)\n")
    assert found.applies == ["train"]
    assert "tower_0/y" in found.reach and "unused" not in found.reach
    assert found.trainable == {"w"}
    assert found.variable_of("train") == "w" and found.variable_of("w/read") == "w"
    assert found.variable_of("sum") == "w", "by first inputs"
    assert found.variable_of("w") is None


def test_a_graph_without_update_rules_reaches_nothing():
    assert whole("x = Placeholder()\n").reach == set()


@pytest.mark.parametrize(
    "value, number",
    [(np.float32(0.5), 0.5), (np.array([3]), 3), (np.arange(2), None), (np.array(True), None), (np.array("a"), None)],
)
def test_scalar_constants_are_numbers(value, number):
    graph = graph_of("c = Const()\nother = Neg()\n", c={"value": np.asarray(value)})
    assert scalar_constant(graph.nodes["c"]) == number
    assert scalar_constant(graph.nodes["other"]) is None


def test_values_are_seen_through_identity_and_cast():
    found = whole("c = Const()\ncast = Cast(c)\nsame = Identity(cast)\nneg = Neg(c)\n", c={"value": np.array(4.0)})
    assert found.value("same") == 4.0 and found.value("neg") is None


def test_ancestors_of_tensors_leave_control_dependencies_out():
    graph = graph_of("a = Const()\nb = Const()\nc = Neg(a, ^b)\n")
    assert ancestors_of_tensors(graph, ["c:0"]) == {"a", "c"}


def test_roots_of_scalar_constants_are_numbers():
    def build():
        root = tf.sqrt(tf.cast(tf.constant(4), tf.float32), name="root")
        tf.math.rsqrt(tf.constant(16.0), name="scale")
        tf.sqrt(tf.constant(-1.0), name="none")
        tf.sqrt(tf.compat.v1.placeholder(tf.float32, [], "fed") + root, name="open")

    whole = WholeGraph(saved(traced(build)))
    assert [whole.value(name) for name in ("root", "scale", "none", "open")] == [2.0, 0.25, None, None]
