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


def test_a_summary_of_gradients_reads_no_weight():
    """`tf.summary.histogram("w/gradients", ...)` of gradients that are summed has constants in a scope of this name."""
    summary = """
    tag = Const()
    w/gradients/values = Pack(slot, tag)
    w/gradients = HistogramSummary(tag, w/gradients/values)
    """
    assert trained_variables(graph_of(BY_HAND + summary)) == ["w"]
    model = summary.replace("w/gradients = HistogramSummary(tag, w/gradients/values)", "")
    assert trained_variables(graph_of(BY_HAND + model)) == ["slot", "w"], "a gradient graph takes it"


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


#: A moving mean that the model reads, of activations at data that gradients made, as adversarial examples are.
ADVERSARIAL = """
    x = Placeholder()
    w = VariableV2()
    mean = VariableV2()
    near = Sub(x, mean)
    loss = Mul(near, w)
    gradients/loss_grad/Mul = Mul(near, w)
    attack = Add(x, gradients/loss_grad/Mul)
    seen = Mul(attack, w)
    gradients_1/seen_grad/Mul = Mul(seen, attack)
    share = Const()
    kept = Const()
    step = ApplyGradientDescent(w, share, gradients_1/seen_grad/Mul)
    read = Identity(mean)
"""


@pytest.mark.parametrize(
    "update, trained",
    [
        ("gap = Sub(read, seen)\n by = Mul(gap, share)\n move = AssignSub(mean, by)", ["w"]),
        ("gap = Sub(read, seen)\n by = Mul(gap, share)\n new = Sub(read, by)\n move = Assign(mean, new)", ["w"]),
        ("a = Mul(read, kept)\n b = Mul(seen, share)\n new = Add(a, b)\n move = Assign(mean, new)", ["w"]),
        # A momentum that the model reads moves towards the gradient itself; one step of a weight takes it, too.
        ("gap = Sub(read, gradients_1/seen_grad/Mul)\n by = Mul(gap, share)\n move = AssignSub(mean, by)", None),
        ("by = Mul(gradients_1/seen_grad/Mul, share)\n move = AssignSub(mean, by)", None),
        ("by = Mul(seen, share)\n new = Sub(read, by)\n move = Assign(mean, new)", None),  # unrolled: towards nothing
    ],
)
def test_a_moving_mean_at_adversarial_examples_is_no_weight(update, trained):
    found = trained_variables(graph_of(ADVERSARIAL + update), ["w"])
    assert found == (trained or ["w", "mean"])
    assert trained_variables(graph_of(ADVERSARIAL + update), ["w", "mean"]) == ["w", "mean"], "listed: it is declared"
