"""Towers that the names or devices of a graph suggest."""

import types

import pytest

from legacy.saved.facts.basics import tower_labels
from legacy.saved.facts.basics.tower_labels import labels_of_analysis, suggested_labels
from legacy.saved.tower_search.labelling.labellings import labellings
from tests.legacy.saved.facts.basics.test_whole_graph import TOWERS
from tests.legacy.saved.graphs import graph_of


def suggested(text):
    return suggested_labels(graph_of(text), None)


def test_towers_by_their_devices_where_names_do_not_tell():
    found_by, labels = suggested(TOWERS.replace("tower_0/", "left").replace("tower_1/", "right"))
    assert found_by == "device /gpu:k" and set(labels.values()) == {0, 1}


@pytest.mark.parametrize(
    "text",
    [
        TOWERS.replace("tower_1/y = Mul(w/read)", "tower_1/y = Mul(tower_0/y)"),  # layers: one feeds the next
        TOWERS.replace("y_grad", "y_forward"),  # nothing is computed backwards
    ],
)
def test_labels_that_are_no_towers(text):
    assert suggested(text) == ("no towers were told apart", {})


def chains(second, end):
    """Two scopes of many ops each: what the second begins with, and what its last op takes besides."""
    lines = ["x = Placeholder()", "side = Placeholder()"]
    for number, first in ((1, "x"), (2, second)):
        scope = f"conv{number}/"
        lines.append(f"{scope}y0 = Mul({first})")
        lines += [f"{scope}y{i} = Mul({scope}y{i - 1})" for i in range(1, 60)]
        lines.append(f"{scope}last = Add({scope}y59{', ' + end if number == 2 else ''})")
        lines += [f"gradients/{scope}y{i}_grad/Mul = Mul({scope}y{i})" for i in range(60)]
    return suggested("\n".join(lines))


@pytest.mark.parametrize("second, end, are_towers", [("conv1/last", "side", False), ("x", "conv1/last", True)])
def test_layers_of_many_ops_feed_the_next_by_one_and_towers_add_up_their_losses(second, end, are_towers):
    """A sum of losses that each tower adds to is made of another tower's results, too, but is its last op alone."""
    found_by, labels = chains(second, end)
    assert (found_by, len(set(labels.values()))) == (
        ("name scope convk", 2) if are_towers else ("no towers were told apart", 0)
    )


@pytest.mark.parametrize("factor, towers", [("kept", set()), ("w/read", {0, 1})])
def test_parts_of_a_model_that_take_no_weight_are_no_copies_of_it(factor, towers):
    """As the dropouts of a model on one device, which are alike and have numbers."""
    lines = ["x = Placeholder()", "kept = Placeholder()", "w = VariableV2()", "w/read = Identity(w)"]
    for scope in ("Dropout", "Dropout_1"):
        lines += [f"{scope}/mul = Mul(x, {factor})", f"gradients/{scope}/mul_grad/Mul = Mul({scope}/mul)"]
    assert set(suggested("\n".join(lines))[1].values()) == towers


@pytest.mark.parametrize("kind, towers", [("Const", set()), ("Mul", {0, 1})])
def test_the_constants_of_a_gradient_op_are_no_backward_passes(kind, towers):
    """As those of the casts of a mean's gradient, which have numbers."""
    nodes = [f"gradients/Mean_grad/Cast{number}/x = {kind}()" for number in ("", "_1")]
    _, labels = suggested("\n".join(["x = Placeholder()", "Mean = Mean(x)", *nodes]))
    assert set(labels.values()) == towers


class Context:
    """What is asked of the context of an analysis."""

    def __init__(self, towers):
        self.towers = towers


def analysed(found_by, labels, count=2):
    """Labels of the whole graph, where an analysis found these of the step's nodes."""
    towers = types.SimpleNamespace(count=count, found_by=found_by, masks={}, labels=labels)
    return labels_of_analysis(graph_of(TOWERS), Context(towers))


BACKWARD = {f"gradients/tower_{tower}/y_grad/Mul": tower for tower in range(2)}
WHOLE = {"tower_0/y": 0, "tower_1/y": 1, **BACKWARD}


def exchanged(before, *weights):
    """The labels of two scopes: what each takes besides its weight, by way of nodes without a label.

    Args:
      before: for each scope, the scope whose result it takes, or None.
      weights: the weight of each.
    """
    lines = ["x = Placeholder()", "w = VariableV2()", "v = VariableV2()"]
    for k, (other, weight) in enumerate(zip(before, weights)):
        lines += [f"between_{k} = {'Tanh(x)' if other is None else f'Tanh(part_{other}/y1)'}"]
        lines += [f"part_{k}/y1 = Mul(x, {weight})", f"part_{k}/y2 = Mul(part_{k}/y1, between_{k})"]
        lines += [f"part_{k}/y{i} = Mul(part_{k}/y{i - 1}, {weight})" for i in range(3, 6)]
        lines += [f"gradients/part_{k}/y{i}_grad/Mul = Mul(part_{k}/y{i}, x)" for i in range(1, 6)]
    lines += ["all = AddN(gradients/part_0/y1_grad/Mul, gradients/part_1/y1_grad/Mul)"]
    lines += [f"train_{name} = ApplyGradientDescent({name}, x, all)" for name in sorted(set(weights))]
    return suggested(
        "\n".join([*lines, "train = NoOp(^" + ", ^".join(f"train_{w}" for w in sorted(set(weights))) + ")"])
    )[1]


@pytest.mark.parametrize(
    "before, weights, are_towers",
    [
        ((None, None), "ww", True),
        ((None, 0), "ww", False),  # steps of one layer: the second takes what the first gives
        ((1, 0), "ww", True),  # towers that exchange moments
        ((1, 0), "wv", False),  # layers, with a mask between
    ],
)
def test_layers_and_steps_feed_each_other_by_nodes_outside(before, weights, are_towers):
    assert set(exchanged(before, *weights).values()) == ({0, 1} if are_towers else set())


def trained_by(*runs):
    """The labels of four steps in scopes of one name, of which each train op applies the mean of some."""
    lines = ["x = Placeholder()"]
    for k in range(4):
        scope = f"tower_{k}"
        lines += [f"{scope}/y = Mul(x, w_0)", f"gradients/{scope}/y_grad/Mul = Mul({scope}/y, x)"]
    for number, steps in enumerate(runs):
        terms = ", ".join(f"gradients/tower_{k}/y_grad/Mul" for k in steps)
        lines += [f"w_{number} = VariableV2()", f"sum_{number} = AddN({terms})"]
        lines += [f"train_{number} = ApplyGradientDescent(w_{number}, x, sum_{number})"]
    return suggested("\n".join(lines))[1]


@pytest.mark.parametrize(
    "runs, are_towers",
    [
        ([(0, 1), (2, 3)], False),  # a graph for each length
        ([(0, 1), (2,)], False),
        ([(0, 1, 2, 3), (2, 3)], True),
        ([(0, 1, 2)], True),  # the gradients of the last are lost
        ([(0,), (1,), (2,), (3,)], True),  # each tower updates by itself
    ],
)
def test_labels_of_which_train_ops_take_different_parts_are_no_towers(runs, are_towers):
    assert len(set(trained_by(*runs).values())) == (4 if are_towers else 0)


def test_nodes_outside_of_the_step_are_labelled_as_those_inside():
    assert analysed("device /gpu:k", BACKWARD) == ("device /gpu:k", WHOLE)
    reverse = {name: 1 - tower for name, tower in BACKWARD.items()}
    assert analysed("device /gpu:k", reverse) == ("device /gpu:k", {name: 1 - tower for name, tower in WHOLE.items()})


def test_a_tower_that_no_step_runs_has_its_label_too():
    step = {name: 0 for name, tower in WHOLE.items() if tower == 0}
    assert analysed("device /gpu:k", step) == ("device /gpu:k", WHOLE)


def test_towers_that_no_labelling_tells_keep_the_labels_of_the_analysis():
    assert analysed("the data flow", BACKWARD) == ("the data flow", BACKWARD)
    assert analysed("device /gpu:k", {}, count=1) == ("", {})


def test_towers_that_names_tell_apart_are_those_of_devices_if_one_more_of_these_computes_gradients():
    """As where the first tower's gradients are dropped, and the others' scopes alone have numbers."""
    more = "\n".join(line.replace("tower_1", "third").replace("gpu:1", "gpu:2") for line in TOWERS.splitlines())
    lines = [line for line in more.splitlines() if "third" in line and line.split(" = ")[0].strip() not in TOWERS]
    towers = types.SimpleNamespace(count=2, found_by="name scope net_k", masks={}, labels=BACKWARD)
    context = Context(towers)
    found_by, labels = labels_of_analysis(graph_of(TOWERS + "\n".join(lines)), context)
    assert found_by == "device /gpu:k" and set(labels.values()) == {0, 1, 2}
    assert labels_of_analysis(graph_of(TOWERS), context) == ("name scope net_k", BACKWARD)


def two_losses(scope_of_layers):
    """The labels of two losses of one model, each with a train op that reads the weight; the scope of their layers."""
    lines = ["x = Placeholder()", "w = VariableV2()", "w/read = Identity(w)"]
    for k in range(2):
        layer, loss = f"{scope_of_layers.format(k)}/y", f"clip_{k}/loss"
        lines += [f"{layer} = Mul(x, w/read)"] * (f"{layer} = Mul(x, w/read)" not in lines)
        lines += [f"{loss} = Minimum({layer})", f"gradients/{loss}_grad/Mul = Mul({loss})"]
        lines += [f"delta_{k} = Mul(w/read, gradients/{loss}_grad/Mul)"]
        lines += [f"train_{k} = ApplyGradientDescent(w, x, delta_{k})"]
    graph = graph_of("\n".join(lines))
    return suggested_labels(graph, graph.ancestors(["train_1"]))[1]


@pytest.mark.parametrize("scope, are_towers", [("net", False), ("clip_{}", True)])
def test_what_stands_behind_all_layers_is_no_tower(scope, are_towers):
    """An update that reads weights, as a sparse Adam's does, is no layer."""
    assert set(two_losses(scope).values()) == ({0, 1} if are_towers else set())


@pytest.mark.parametrize("trains, are_towers", [("tower_0", True), ("last", False)])
def test_labels_of_which_a_step_trains_none_are_of_other_runs(trains, are_towers):
    """As the steps of an attack, whose gradients are with respect to examples; of towers one may train, beside others.

    The number of a step is not that of a tower.
    """
    lines = ["x = Placeholder()", "w = VariableV2()", "w/read = Identity(w)"]
    for scope in ("tower_0", "tower_1", "last"):
        lines += [f"{scope}/loss = Mul(x, w/read)", f"{scope}/gradients/{scope}/loss_grad/Mul = Mul({scope}/loss)"]
    lines += [f"train = ApplyGradientDescent(w, x, {trains}/gradients/{trains}/loss_grad/Mul)"]
    graph = graph_of("\n".join(lines))
    assert set(suggested_labels(graph, graph.ancestors(["train"]))[1].values()) == ({0, 1} if are_towers else set())


def test_train_ops_are_found_once_for_all_labellings(monkeypatch):
    """A large graph without an analysis has many labellings, and looking for its train ops passes all its nodes."""
    calls = []
    found = tower_labels.find_train_ops
    monkeypatch.setattr(tower_labels, "find_train_ops", lambda graph: calls.append(graph) or found(graph))
    lines = ["x = Placeholder()", "w = VariableV2()", "w/read = Identity(w)"]
    for k in range(2):
        lines += [f"net_{k}/a_{k}/y = Mul(x, w/read)", f"net_{k}/a_{k}/gradients/y_grad/Mul = Mul(net_{k}/a_{k}/y)"]
        lines += [f"train_{k} = ApplyGradientDescent(w, x, net_{k}/a_{k}/gradients/y_grad/Mul)"]
    graph = graph_of("\n".join(lines))
    suggested_labels(graph, None)
    assert len(list(labellings(graph))) > 1 and len(calls) == 1
    suggested_labels(graph, graph.ancestors(["train_0"]))
    assert len(calls) == 1  # a step's labels are told by what it trains
