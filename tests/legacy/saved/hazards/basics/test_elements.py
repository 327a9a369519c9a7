"""The tensor whose elements another one holds."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.basics.elements import Choice, choice_by_code, source_of_elements
from tests.legacy.saved.graphs import graph_of, traced
from workloads.lifted.graph import TensorId

GRAPH = "x = Placeholder()\n y = Square(x)\n a = Reshape(y)\n b = Identity(a)\n c = Cast(b)"


def test_ops_that_hand_elements_on_are_passed_and_others_are_not():
    graph = graph_of(GRAPH)
    assert source_of_elements(graph, TensorId("c", 0)) == TensorId("y", 0)
    assert source_of_elements(graph, TensorId("x", 0)) == TensorId("x", 0)


@pytest.mark.parametrize(
    "part, has_all",
    [
        (lambda x: x[:, None], True),
        (lambda x: x[..., None], True),
        (lambda x: x[None, :, :], True),
        (lambda x: x[1:, None], False),
        (lambda x: x[:, None, 0], False),
        (lambda x: x[::2, None], False),
        (lambda x: x[:, :1], False),
    ],
)
def test_a_slice_of_all_with_a_new_axis_has_all_elements(part, has_all):
    graph = traced(lambda: tf.identity(part(tf.compat.v1.placeholder(tf.float32, [4, 3], "x")), "y"))
    assert (source_of_elements(graph, TensorId("y", 0)).node == "x") == has_all


CHOICE = """
    x = Placeholder()
    y = Exp(x)
    code = OneHot(labels)
    labels = Placeholder()
    cast = Cast(code)
    product = Mul(cast, y)
    total = Sum(product, axis)
    axis = Const()
    """


def test_a_sum_over_a_product_with_one_hot_codes_chooses_a_number_of_each_row():
    assert choice_by_code(graph_of(CHOICE), "total") == Choice(TensorId("y", 0), "code")


@pytest.mark.parametrize("changed", ["Mul(y, y)", "Mul(cast, code)", "Add(cast, y)", "Identity(y)"])
def test_other_sums_choose_none(changed):
    graph = graph_of(CHOICE.replace("Mul(cast, y)", changed))
    assert choice_by_code(graph, "total") is None and choice_by_code(graph, "product") is None
