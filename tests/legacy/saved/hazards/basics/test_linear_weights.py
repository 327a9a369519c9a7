"""Weights of scalars in a linear function of them, counted by hand."""

import numpy as np
import pytest

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.linear_weights import constant_factor, linear_source, linear_weights
from tests.legacy.saved.graphs import graph_of, saved


def test_weights_of_a_linear_function():
    graph = graph_of(
        """
        a = Placeholder()
        b = Placeholder()
        c = Placeholder()
        half = Const()
        both = Pack(a, b)
        mean = Mean(both)
        less = Sub(mean, c)
        loss = RealDiv(less, half)
        bent = Square(loss)
        """,
        half={"value": np.array(0.5, np.float32)},
    )
    whole = WholeGraph(saved(graph))
    weights = linear_weights(whole, "loss")
    assert (weights["a"], weights["b"], weights["c"]) == (1.0, 1.0, -2.0)
    assert "a" not in linear_weights(whole, "bent")


def test_weights_of_joined_and_negated_terms():
    graph = graph_of(
        """
        a = Placeholder()
        b = Placeholder()
        axis = Const()
        less = Neg(b)
        joined = ConcatV2(a, less, axis)
        copy = Identity(joined)
        loss = Mean(copy)
        total = Sum(copy)
        other = Mean(a)
        """
    )
    whole = WholeGraph(saved(graph))
    weights, summed = linear_weights(whole, "loss"), linear_weights(whole, "total")
    assert (weights["a"], weights["b"], "axis" in weights) == (0.5, -0.5, False)
    assert (summed["a"], summed["b"]) == (1.0, -1.0)
    assert linear_weights(whole, "other") == {"other": 1.0}  # of an unknown number of elements


@pytest.mark.parametrize("axes, weight", [([], 0.5), ([0], None)])
def test_a_mean_over_no_axis_is_its_input(axes, weight):
    """As of a penalty, which is a scalar; what a mean over the rows of a vector has of each is not known here."""
    graph = graph_of(
        """
        a = Placeholder()
        b = Placeholder()
        axes = Const()
        mean = Mean(a, axes)
        both = Pack(mean, b)
        loss = Mean(both)
        """,
        axes={"value": np.array(axes, np.int32)},
    )
    assert linear_weights(WholeGraph(saved(graph)), "loss").get("a") == weight


def test_a_damaged_product_with_one_input_has_no_constant_factor():
    half = {"value": np.array(0.5, np.float32)}
    text = "a = Placeholder()\nhalf = Const()\nwhole = Mul(a, half)\ndamaged = Mul(half)"
    whole = WholeGraph(saved(graph_of(text, half=half)))
    assert constant_factor(whole, "whole") == ("a", 0.5) and constant_factor(whole, "damaged") is None


def test_a_linear_function_of_one_node():
    text = """
        x = Placeholder()
        two = Const()
        less = Sub(x, two)
        turned = Sub(two, less)
        negated = Neg(turned)
        half = RealDiv(negated, two)
        bent = Square(half)
        both = Sub(x, half)
        """
    whole = WholeGraph(saved(graph_of(text, two={"value": np.array(2.0, np.float32)})))
    assert linear_source(whole, "half") == ("x", 0.5, -2.0)  # -(2 - (x - 2)) / 2
    assert linear_source(whole, "bent") == ("bent", 1.0, 0.0) and linear_source(whole, "both") == ("both", 1.0, 0.0)
