"""Regularization terms that are all zero."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.penalties.zeros import zero_regularization
from tests.legacy.saved.graphs import graph_of, saved, traced

v1 = tf.compat.v1
TERMS = """
    w = VariableV2()
    v = VariableV2()
    rate = Const()
    zero = Const()
    l2 = L2Loss(w)
    weight_loss = Mul(l2, zero)
    l2_1 = L2Loss(v)
    weight_loss_1 = Mul(l2_1, zero)
    x = Placeholder()
    data = Mul(x, w)
    loss = AddN(data, weight_loss, weight_loss_1)
    """


@pytest.mark.parametrize(
    "text, expected",
    [
        (TERMS, ["every regularization term of 2 variables is multiplied by 0: no weight decays"]),
        (TERMS.replace("Mul(l2, zero)", "Mul(l2, rate)"), []),  # layers without a decay beside one with it
        (TERMS.replace("Mul(l2, zero)", "Square(l2)"), []),
        ("x = Placeholder()", []),
    ],
)
def test_a_program_whose_penalties_are_all_zero(text, expected):
    numbers = {"rate": 0.5, "zero": 0.0} if "zero" in text else {}
    values = {name: {"value": np.array(value, np.float32)} for name, value in numbers.items()}
    whole = WholeGraph(saved(graph_of(text, **values), trainable_variables=["w", "v"]))
    found = list(zero_regularization(whole))
    assert [hazard.description for hazard in found] == expected
    assert [(hazard.id, hazard.op) for hazard in found] == [("REGULARIZATION_ZERO", "weight_loss")] * len(expected)


@pytest.mark.parametrize("share, also, count", [(0.0, 0.0, 1), (0.5, 0.0, 0), (0.0, 1.0, 0)])
def test_the_sum_of_penalties_times_zero(share, also, count):
    """As where the share of each tower is 1 / 2 of whole numbers; one that counts once more has an effect."""

    def build():
        w, v = (v1.get_variable(name, [4, 4], use_resource=False) for name in "wv")
        data = tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [2, 4], "x") @ w @ v))
        terms = [tf.multiply(tf.nn.l2_loss(weight), 0.5, name="weight_loss") for weight in (w, v)]
        total = data + share * tf.add_n(terms)
        v1.train.GradientDescentOptimizer(0.5).minimize(total + terms[0] if also else total, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w", "v"]))
    assert [hazard.id for hazard in zero_regularization(whole)] == ["REGULARIZATION_ZERO"] * count
