"""Trainable variables that no loss depends on, each with a twin that is left as it is on purpose."""

import pytest

from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.hazards.untrained import variables_without_gradient
from tests.legacy.saved.graphs import graph_of, saved

#: A loss of one weight; `head` reads another one, which the loss does not take.
STEP = """
    x = Placeholder()
    w = VariableV2()
    v = VariableV2()
    y = Mul(x, w)
    head = Mul(y, v)
    loss = Sum(y)
    gradients/Fill = Const()
    gradients/loss_grad/Tile = Tile(gradients/Fill)
    gradients/y_grad/Mul = Mul(gradients/loss_grad/Tile, x)
    train = ApplyGradientDescent(w, rate, gradients/y_grad/Mul)
    rate = Const()
"""


def lost(text):
    """The variables that are named."""
    whole = WholeGraph(saved(graph_of(text), trainable_variables=["w", "v"]))
    return [(hazard.op, hazard.description) for hazard in variables_without_gradient(whole)]


def test_a_variable_that_no_loss_depends_on_is_named():
    (found,) = lost(STEP)
    assert found[0] == "v" and found[1].startswith("no gradient reaches 1 trainable variable (v): ")


@pytest.mark.parametrize(
    "old, new",
    [
        ("loss = Sum(y)", "loss = Sum(head)"),  # left as it is, as the layers of a trained network
        ("loss = Sum(y)", "still = StopGradient(v)\n loss = Sum(y, still)"),
        ("rate = Const()", "rate = Const()\n copy = Assign(v, w)"),  # a target network
        ("rate = Const()", "rate = Const()\n other = ApplyAdam(v, y)"),  # the next train op's
    ],
)
def test_a_variable_that_is_used_or_set_is_not(old, new):
    assert old in STEP and lost(STEP.replace(old, new)) == []


def test_where_nothing_trains_nothing_is_said():
    assert lost(STEP.replace("ApplyGradientDescent(w, rate, gradients/y_grad/Mul)", "NoOp()")) == []
