"""Crossings of a train op that match although they are alone in their rows, and those of one tower's state."""

import types

from legacy.saved.analysis import phases
from legacy.saved.analysis.division.parts import StepParts
from legacy.saved.tower_search.towers import Leak
from tests.legacy.saved.graphs import graph_of
from workloads.lifted.graph import TensorId
from workloads.lifted.plan import Effect, Variable

MEANS = """
    x0 = Placeholder()
    x1 = Placeholder()
    mean0 = Mean(x0)
    mean1 = Mean(x1)
    max1 = Max(x1)
    s0 = VariableV2()
    s1 = VariableV2()
    move0 = Assign(s0, mean0)
    move1 = Assign(s1, mean1)
    """


def tensor(name):
    return TensorId(name, 0)


def context_and_parts(lone):
    """A context, and parts in which each of the (tower, node) in `lone` is alone in its row of crossings."""
    graph = graph_of(MEANS)
    towers = types.SimpleNamespace(count=2)
    state = types.SimpleNamespace(aliases={tensor("s0"): "s0", tensor("s1"): "s1"})
    context = types.SimpleNamespace(graph=graph, random=set(), towers=towers, state=state, names=list)
    crossings = {(tensor("end"), i): {tower: tensor(name)} for i, (tower, name) in enumerate(lone)}
    nodes = {"mean0": 0, "mean1": 1, "max1": 1}
    cuts = [[tensor("x0")], [tensor("x1")]]
    return context, StepParts(nodes, cuts, [], crossings, [[], []], {}, [[], []])


def twins(lone, losses=()):
    context, parts = context_and_parts(lone)
    return phases._twins(
        context, types.SimpleNamespace(divided=parts, losses=[tensor(name) for name in losses], members=set())
    )


def test_lone_crossings_that_are_computed_alike_are_twins():
    assert twins([(0, "mean0"), (1, "mean1")]) == {"mean1:0": "mean0:0"}
    assert twins([(0, "mean0"), (1, "max1")]) == {}


def test_what_one_tower_alone_hands_on_is_matched_from_the_losses():
    assert twins([(1, "mean1")], ["mean0", "mean1"]) == {"mean1:0": "mean0:0"}
    assert twins([(1, "mean1")], ["x0", "x1"]) == {}  # the losses are not made of it


def test_a_further_output_of_a_node_is_matched_with_the_node():
    context, parts = context_and_parts([])
    parts = parts._replace(crossings={(tensor("end"), 0): {1: TensorId("mean1", 1)}})
    phase = types.SimpleNamespace(divided=parts, losses=[tensor("mean0"), tensor("mean1")], members=set())
    assert phases._twins(context, phase) == {"mean1:1": "mean0:1"}


def test_a_node_of_another_type_has_no_further_outputs_of_its_match():
    context, parts = context_and_parts([])
    parts = parts._replace(crossings={(tensor("end"), 0): {1: TensorId("max1", 1)}})
    phase = types.SimpleNamespace(divided=parts, losses=[tensor("mean0"), tensor("max1")], members=set())
    assert phases._twins(context, phase) == {}


def test_a_crossing_has_one_twin():
    assert twins([(0, "mean0"), (1, "mean1"), (1, "mean1")]) == {"mean1:0": "mean0:0"}


def test_rows_of_crossings_have_a_place_for_each_tower():
    context, parts = context_and_parts([(1, "mean1")])
    both = dict(parts.crossings, both={0: tensor("mean0"), 1: tensor("max1")})
    assert phases._crossing_rows(context, both) == [[None, "mean1:0"], ["mean0:0", "max1:0"]]


def test_state_crossings_are_used_by_one_update_op_of_a_towers_state():
    context, parts = context_and_parts([(0, "mean0"), (1, "mean1")])
    effects = [Effect("move0", "Assign", ["s0"], ["mean0:0"]), Effect("move1", "Assign", ["s1"], ["mean1:0"])]
    phase = types.SimpleNamespace(effects=effects, divided=parts)
    variables = [Variable("s0", [], "float32", "state", tower=0), Variable("s1", [], "float32", "statistic")]
    assert phases._state_crossings(context, phase, variables) == {"mean0:0": "move0"}


def test_notes_name_losses_with_a_shape_and_further_losses():
    graph = graph_of("""
        loss = Square()
        mean = Mean(loss)
        gradients/Fill = Fill()
        gradients/loss_grad/Mul = Mul(gradients/Fill)
        """)
    shapes = {"loss": (4,), "mean": ()}
    imported = types.SimpleNamespace(shape=lambda node, output: shapes[node])
    context = types.SimpleNamespace(graph=graph, imported=imported)

    def notes(loss, others):
        return list(phases.phase_notes(context, phase_of("train", loss, others)))

    assert notes("loss", []) == ["train: the loss loss:0 has the shape [4]; what is minimized is its sum"]
    assert notes("mean", [[tensor("loss")]]) == ["train: further losses are differentiated besides mean:0: loss:0"]
    many = notes("mean", [[tensor("loss")]] * 8)
    assert [text.endswith("loss:0, loss:0 and 2 more") for text in many] == [True]
    assert notes("mean", []) == []


def phase_of(target, loss, others):
    members = {"gradients/Fill", "gradients/loss_grad/Mul"}
    return types.SimpleNamespace(target=target, losses=[tensor(loss)], other_losses=others, members=members)


LEAKS = """
    loss0 = Placeholder()
    loss1 = Placeholder()
    total1 = AddV2(loss1, loss0)
    gradients/Fill = Const()
    gradients/loss0_grad/mul = Mul(gradients/Fill, loss0)
    gradients_1/Fill = Const()
    gradients_1/total1_grad/mul = Mul(gradients_1/Fill, total1)
    mean = AddN(gradients/loss0_grad/mul, gradients_1/total1_grad/mul)
    """


def leak_notes(text, leaks):
    """The notes on some (tower, other, tensor's node, user) of a graph."""
    graph = graph_of(text)
    found = [Leak(tower, other, tensor(taken), user) for tower, other, taken, user in leaks]
    context = types.SimpleNamespace(graph=graph, towers=types.SimpleNamespace(leaks=lambda _: found))
    phase = types.SimpleNamespace(members=set(graph.nodes))
    return list(phases.leak_notes(context, [phase]))


def test_a_loss_that_contains_another_towers_is_noted():
    (note,) = leak_notes(LEAKS, [(1, 0, "loss0", "total1")])
    assert note == "tower 1's loss contains what tower 0 computes: total1 takes loss0:0"


def test_what_combines_gradients_on_a_towers_device_takes_all_towers_and_is_not_noted():
    assert leak_notes(LEAKS, [(0, 1, "gradients_1/total1_grad/mul", "mean")]) == []
