"""Which variables a graph trains, with and without the collection that lists them."""

import pytest

from legacy.saved.graph.trained import trained_variables
from tests.legacy.saved.graphs import graph_of

#: A weight with a slot, set by assignments of what the gradient gives.
BY_HAND = """
    x = Placeholder()
    w = VariableV2()
    slot = VariableV2()
    loss = Mul(x, w)
    gradients/loss_grad/Mul = Mul(x, w)
    moved = Add(slot, gradients/loss_grad/Mul)
    keep = Assign(slot, moved)
    step = AssignSub(w, moved)
"""


def test_a_variable_that_gradients_change_and_the_model_reads_is_trained():
    graph = graph_of(BY_HAND)
    assert trained_variables(graph) == trained_variables(graph, ["w"]) == ["w"]
    assert trained_variables(graph, ["v"]) == ["v", "w"]


def test_an_update_rules_variable_is_trained_whatever_it_gets():
    assert trained_variables(graph_of("v = VariableV2()\nupdate = ApplyAdam(v)")) == ["v"]


def test_a_slot_in_the_collection_is_no_weight():
    """`tf.Variable(zeros, "name")` is trainable: the second argument is not the name."""
    assert trained_variables(graph_of(BY_HAND), ["w", "slot"]) == ["w"]
    count = "count = VariableV2()\nscaled = Mul(moved, count)\nrise = AssignAdd(count, x)"
    by_count = BY_HAND.replace("AssignSub(w, moved)", "AssignSub(w, scaled)") + count
    assert trained_variables(graph_of(by_count), ["w", "count", "slot"]) == ["w"]


def test_a_weight_that_no_gradient_needs_stays_one():
    """The last bias of a critic: the derivative of a mean does not depend on it."""
    bias = """
    b = VariableV2()
    out = Add(loss, b)
    gradients/out_grad/Sum = Sum(x)
    move = AssignSub(b, gradients/out_grad/Sum)
    """
    assert trained_variables(graph_of(BY_HAND + bias), ["w", "b"]) == ["w", "b"]


@pytest.mark.parametrize(
    "instead, trained",
    [
        ("AssignSub(w, x)", []),  # set by hand, as by a schedule
        ("AssignSub(w, scale)\n scale = Mul(finite, x)\n finite = IsFinite(gradients/loss_grad/Mul)", []),
        ("AssignSub(w, scale)\n scale = Mul(finite, x)\n finite = Tanh(gradients/loss_grad/Mul)", ["w"]),
        ("AssignSub(w, scale)\n scale = Mul(x, x, ^gradients/loss_grad/Mul)", []),
    ],
)
def test_what_no_gradient_gives_trains_nothing(instead, trained):
    """A loss scale that falls where a gradient overflows depends on an answer about gradients, and not on them."""
    assert trained_variables(graph_of(BY_HAND.replace("AssignSub(w, moved)", instead))) == trained


def test_a_sum_of_gradients_that_no_model_reads_is_none():
    kept = "total = VariableV2()\nadd = AssignAdd(total, gradients/loss_grad/Mul)\nuse = Identity(total)"
    assert trained_variables(graph_of(BY_HAND + kept)) == ["w"]


@pytest.mark.parametrize(
    "reading, trained",
    [
        ("known = IsVariableInitialized(norms)\nread = Identity(norms)", ["w"]),  # other runs show it
        ("branch = RefSwitch(norms, x)\nmore = AssignAdd(branch, gradients/loss_grad/Mul)", ["w"]),
        ("finite = IsFinite(gradients/loss_grad/Mul)\nmore = AssignAdd(norms, finite)", ["w"]),
        ("read = Identity(norms)\ncopy = VariableV2()\nset = Assign(copy, read)", ["w", "norms"]),  # of a replica
        ("read = Identity(norms)\nout = Add(loss, read)", ["w", "norms"]),  # a bias: its derivative is a constant
    ],
)
def test_what_nothing_computes_with_is_no_weight_where_the_collection_has_it(reading, trained):
    kept = f"norms = VariableV2()\nadd = AssignAdd(norms, gradients/loss_grad/Mul)\n{reading}"
    assert trained_variables(graph_of(BY_HAND + kept), ["w", "norms"]) == trained
