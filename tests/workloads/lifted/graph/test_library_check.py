"""Checks of libraries of functions, on libraries of a few nodes."""

import pytest
import tensorflow as tf

from workloads.lifted.graph.library_check import library_problems, node_on_a_cycle

v1 = tf.compat.v1


def library(calls, gradients=()):
    """A library of functions, each with a node that calls one, directly or by an attribute; {name: (callee, how)}."""
    graph_def = v1.GraphDef()
    for name, (callee, how) in calls:
        function = graph_def.library.function.add()
        function.signature.name = name
        node = function.node_def.add(name="call", op=callee if how == "op" else "PartitionedCall")
        if how == "attribute":
            node.attr["f"].func.name = callee
        if how == "list":
            node.attr["branches"].list.func.add(name=callee)
    for name, gradient in gradients:
        graph_def.library.gradient.add(function_name=name, gradient_func=gradient)
    return graph_def.library


@pytest.mark.parametrize("how", ["op", "attribute", "list"])
def test_functions_that_call_each_other_in_a_circle_are_named(how):
    assert list(library_problems(library([("f", ("g", how)), ("g", ("h", how))]))) == []
    (problem,) = library_problems(library([("f", ("g", how)), ("g", ("f", how))]))
    assert problem == "function 'f' of its library calls itself, directly or by way of others"


def test_a_function_that_is_its_own_gradient_calls_itself():
    (problem,) = library_problems(library([("f", ("NoOp", "op"))], gradients=[("f", "f")]))
    assert "function 'f'" in problem


@pytest.mark.parametrize("names", [("f", "f"), ("",)])
def test_a_name_that_occurs_twice_or_is_empty(names):
    (problem,) = library_problems(library([(name, ("NoOp", "op")) for name in names]))
    assert problem.startswith(f"two functions of its library are called {names[0]!r}")


def test_a_node_behind_a_cycle_is_not_on_it_before_the_cycle_is_found():
    assert node_on_a_cycle({"a": {"b"}, "b": set()}) is None
    assert node_on_a_cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) in ("b", "c")
