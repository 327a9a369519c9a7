import pytest
import tensorflow as tf

from legacy.saved.runs.beside import (
    FROM_THEMSELVES,
    ROWS_TO_CONSTANTS,
    join_runs,
    never_run,
    run_beside,
    with_assignments,
)
from tests.legacy.saved.graphs import graph_of
from workloads.support.errors import InputError

#: A train op, a batch-norm update and a moving average, which nothing runs, and a counter.
TEXT = """
    w = VariableV2()
    seen = VariableV2()
    shadow = VariableV2()
    count = VariableV2()
    x = Placeholder()
    train = ApplyGradientDescent(w, x)
    difference = Sub(seen, x)
    bn/update = AssignSub(seen, difference)
    apart = Sub(shadow, w)
    ema/update = AssignSub(shadow, apart)
    one = Const()
    metric = AssignAdd(count, one)
"""


def test_an_op_runs_the_train_op_and_what_was_fetched_beside_it():
    graph, targets = run_beside(graph_of(TEXT), ["train", "train"], ["bn/update:0", "ema/update", "bn/update"])
    assert targets == ["train_and_beside"] * 2
    assert graph.controls(targets[0]) == ["train", "bn/update", "ema/update"]
    plain = graph_of(TEXT)
    assert run_beside(plain, ["train"], []) == (plain, ["train"])


def test_an_unknown_op_is_refused_with_an_offer():
    with pytest.raises(InputError, match="--with: got 'bn/updates', no such operation in the graph; .*train"):
        run_beside(graph_of(TEXT), ["train"], ["bn/updates"])


def test_train_ops_of_one_run_are_joined():
    plain = graph_of(TEXT + "    train_together = NoOp()\n")
    graph, targets = join_runs(plain, ["train+metric", "bn/update", "train+ema/update+train", "train+metric"])
    assert targets == ["train_together_", "bn/update", "train_together__", "train_together_"]  # unused names
    assert graph.controls("train_together_") == ["train", "metric"]
    assert graph.controls("train_together__") == ["train", "ema/update"]
    assert set(graph.nodes) - set(plain.nodes) == {"train_together_", "train_together__"}


def test_train_ops_that_run_alone_leave_the_graph_as_it_is():
    plain = graph_of(TEXT)
    assert join_runs(plain, ["train", "metric"]) == (plain, ["train", "metric"])


def test_updates_that_no_train_op_runs_are_named():
    collections = {"update_ops": ["bn/update:0", "gone"]}
    found = never_run(graph_of(TEXT), ["train"], collections, ["w"])
    assert found == {"update ops": ["bn/update"], "moving averages": ["ema/update"]}


@pytest.mark.parametrize("also, is_named", [("", False), ("^train, ", True)])
def test_averages_that_another_train_op_runs_are_its_own(also, is_named):
    """Two optimizers for two losses, each grouped with averages of its own, of which a run takes one."""
    text = (
        TEXT + f"    v = VariableV2()\n other = ApplyGradientDescent(v, x)\n group = NoOp({also}^other, ^ema/update)\n"
    )
    assert ("moving averages" in never_run(graph_of(text), ["train"], {}, ["w", "v"])) == is_named


def test_an_update_inside_of_an_update_op_is_named_once():
    text = TEXT + "    bn/merged = Identity(bn/update)\n"
    found = never_run(graph_of(text), ["train"], {"update_ops": ["bn/merged:0"]}, ["w"])
    assert found == {"update ops": ["bn/merged"], "moving averages": ["ema/update"]}


def test_weights_that_are_clipped_by_ops_of_their_own_are_named():
    text = (
        TEXT
        + """
        low = Const()
        other = VariableV2()
        read = Identity(w)
        clipped = Maximum(read, low)
        clip = Assign(w, clipped)
        copy = Assign(w, read)
        mixed = Add(read, other)
        target = Assign(w, mixed)
        restore = Assign(w, low)
        of_other = Maximum(other, low)
        clip_other = Assign(other, of_other)
        """
    )
    assert never_run(graph_of(text), ["train"], {}, ["w", "other"])[FROM_THEMSELVES] == ["clip"]
    assert FROM_THEMSELVES not in never_run(graph_of(text + "all = NoOp(^train, ^clip)\n"), ["all"], {}, ["w"])


#: Row 0 of a weight is the padding's, in the model that is trained and in one that is evaluated.
PADDED = (
    TEXT
    + """
    zero = Const()
    zeros = Const()
    clear = ScatterUpdate(w, zero, zeros)
    clear_1 = ScatterUpdate(w, zero, zeros)
    """
)


def test_rows_of_weights_that_are_set_to_constants_are_named():
    assert never_run(graph_of(PADDED), ["train"], {}, ["w"])[ROWS_TO_CONSTANTS] == ["clear", "clear_1"]
    with_one = graph_of(PADDED + "all = NoOp(^train, ^clear)\n")
    assert ROWS_TO_CONSTANTS not in never_run(with_one, ["all"], {}, ["w"])  # the other one sets the same rows


@pytest.mark.parametrize(
    "old, new",
    [
        ("zeros = Const()", "zeros = Placeholder()"),
        ("zero = Const()", "zero = RandomUniformInt()"),
        ("zeros = Const()", "zeros = Identity(shadow)"),
        ("ScatterUpdate(w", "ScatterUpdate(shadow"),
        ("ScatterUpdate(w", "ScatterAdd(w"),
    ],
)
def test_rows_that_data_or_variables_set_and_those_of_no_weight_are_not(old, new):
    assert ROWS_TO_CONSTANTS not in never_run(graph_of(PADDED.replace(old, new)), ["train"], {}, ["w"])


def test_a_learning_rate_in_a_trainable_variable_that_an_op_halves_is_no_weight():
    text = TEXT + "half = Const()\nread = Identity(rate)\nhalved = Mul(read, half)\nhalve = Assign(rate, halved)\n"
    apply = next(line for line in text.splitlines() if "ApplyGradientDescent" in line)
    text = text.replace(apply, apply.replace("(w, ", "(w, read, ", 1)) + "rate = VariableV2()\n"
    assert FROM_THEMSELVES not in never_run(graph_of(text), ["train"], {}, ["w", "rate"])
    of_weight = text.replace("Identity(rate)", "Identity(w)").replace("Assign(rate, halved)", "Assign(w, halved)")
    assert never_run(graph_of(of_weight), ["train"], {}, ["w", "rate"])[FROM_THEMSELVES] == ["halve"]


def test_the_nodes_that_a_change_is_computed_from_are_searched_once(monkeypatch):
    graph, searched = graph_of(TEXT), []
    ancestors = graph.ancestors
    monkeypatch.setattr(
        graph, "ancestors", lambda ends, *args, **kw: searched.append(list(ends)) or ancestors(ends, *args, **kw)
    )
    assert never_run(graph, ["train"], {}, ["w"])
    assert searched == [["train"], ["difference"], ["apart"], ["one"]]


def test_what_runs_and_what_is_no_average_of_a_weight_is_not_named():
    graph, targets = run_beside(graph_of(TEXT), ["train"], ["bn/update", "ema/update"])
    assert never_run(graph, targets, {"update_ops": ["bn/update"]}, ["w"]) == {}
    assert "moving averages" not in never_run(graph_of(TEXT), ["train"], {}, [])


def test_statistics_by_hand_are_no_averages_of_the_weight_that_they_depend_on():
    text = TEXT.replace("Sub(seen, x)", "Sub(seen, product)").replace("train =", "product = Mul(w, x)\ntrain =")
    found = never_run(graph_of(text), ["train"], {}, ["w"])
    assert found == {"moving averages": ["ema/update"], "updates of statistics": ["bn/update"]}
    assert "updates of statistics" not in never_run(graph_of(text), ["train", "bn/update"], {}, ["w"])
    of_two_towers = text + "bn/update_1 = AssignSub(seen, difference)\n"
    assert "updates of statistics" not in never_run(graph_of(of_two_towers), ["train", "bn/update"], {}, ["w"])


def test_an_update_op_that_a_decided_branch_ends_in_is_its_assignment():
    branch = """
    training = Placeholder()
    switch = Switch(seen, training)
    bn/merged = Merge(switch, bn/update)
    """
    before, after = graph_of(TEXT + branch), graph_of(TEXT)
    collections = {"update_ops": ["bn/merged:0", "ema/update", "gone"], "trainable_variables": ["w"]}
    found = with_assignments(collections, before, after)
    assert found == {"update_ops": ["bn/update", "ema/update", "gone"], "trainable_variables": ["w"]}
    assert never_run(after, ["train"], found, ["w"])["update ops"] == ["bn/update", "ema/update"]
    assert with_assignments(collections, before, before)["update_ops"] == collections["update_ops"]  # nothing decided


@pytest.mark.parametrize("value, shape, is_named", [("w", [3, 2], True), ("penalty", [], False)])
def test_an_average_of_a_penalty_is_one_of_a_loss_and_none_of_its_weight(value, shape, is_named):
    text = TEXT.replace("Sub(shadow, w)", f"Sub(shadow, {value})") + "    penalty = L2Loss(w)\n"
    shapes = {"w": {"shape": tf.TensorShape([3, 2])}, "shadow": {"shape": tf.TensorShape(shape)}}
    assert ("moving averages" in never_run(graph_of(text, **shapes), ["train"], {}, ["w"])) == is_named
