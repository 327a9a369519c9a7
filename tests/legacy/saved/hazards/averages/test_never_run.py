"""Updates of statistics, averages and power iterations that no train op runs, each with a near twin that one runs."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.averages import never_run
from legacy.saved.hazards.averages.never_run import updates_never_run
from tests.legacy.saved.graphs import graph_of, saved, traced

v1 = tf.compat.v1

AVERAGES = """
    x = Placeholder()
    w = VariableV2()
    seen = VariableV2()
    gradients/y_grad/Mul = Mul(x, w)
    train = ApplyGradientDescent(w, gradients/y_grad/Mul)
    seen/AssignMovingAvg = AssignSub(seen, x)
    """


@pytest.mark.parametrize("shape, expected", [([3], ["UPDATES_NEVER_RUN"]), ([], [])])
def test_an_average_of_one_number_is_to_look_at_and_may_be_left_out(shape, expected):
    graph = graph_of(AVERAGES, seen={"shape": tf.TensorShape(shape)})
    whole = WholeGraph(saved(graph, trainable_variables=["w"]))
    assert [hazard.id for hazard in updates_never_run(whole)] == expected


def test_weights_by_which_means_are_divided_are_among_what_does_not_run():
    """As of batch renormalization; a number that no statistic is computed from, such as a mean loss, is left out."""
    text = AVERAGES + "weight = VariableV2()\n    loss = VariableV2()\n"
    text += "    weight/AssignMovingAvg = AssignSub(weight, one)\n    one = Const()\n"
    text += "    loss/AssignMovingAvg = AssignSub(loss, x)\n    corrected = RealDiv(x, weight/AssignMovingAvg)\n"
    text = text.replace("AssignSub(seen, x)", "AssignSub(seen, corrected)")
    scalars = {name: {"shape": tf.TensorShape([])} for name in ("weight", "loss")}
    graph = graph_of(text, seen={"shape": tf.TensorShape([3])}, **scalars)
    (found,) = updates_never_run(WholeGraph(saved(graph, trainable_variables=["w"])))
    assert "the updates of 2 variables (seen, weight)" in found.description


@pytest.mark.parametrize("name, searches", [("seen/AssignMovingAvg", 0), ("seen/update", 1)])
def test_updates_that_have_the_names_of_averages_are_not_searched(name, searches, monkeypatch):
    """A search for each of hundreds of statistics takes long in a large graph."""
    searched = []
    monkeypatch.setattr(never_run, "is_moved_by_data", lambda graph, name, *others: searched.append(name) or True)
    graph = graph_of(AVERAGES.replace("seen/AssignMovingAvg", name), seen={"shape": tf.TensorShape([3])})
    whole = WholeGraph(saved(graph, trainable_variables=["w"]))
    assert [hazard.id for hazard in updates_never_run(whole)] == ["UPDATES_NEVER_RUN"]
    assert searched == [name] * searches


@pytest.mark.parametrize(
    "value, also, expected",
    [
        ("w", "", []),
        ("w", "^train, ", ["UPDATES_NEVER_RUN"]),  # a group of all, which the step is a part of
        ("x", "", ["UPDATES_NEVER_RUN"]),  # statistics of data, which this step lacks
    ],
)
def test_averages_of_weights_that_another_train_op_runs_are_its_own(value, also, expected):
    text = AVERAGES.replace("AssignSub(seen, x)", "AssignSub(seen, apart)") + f"apart = Sub(seen, {value})\n"
    text += (
        "v = VariableV2()\n gradients/z_grad/Mul = Mul(x, v)\n other = ApplyGradientDescent(v, gradients/z_grad/Mul)"
    )
    text += f"\n both = NoOp({also}^other, ^seen/AssignMovingAvg)\n"
    graph = graph_of(text, seen={"shape": tf.TensorShape([3])})
    whole = WholeGraph(saved(graph, trainable_variables=["w", "v"]))
    whole.members = graph.ancestors(["train"])
    assert [hazard.id for hazard in updates_never_run(whole)] == expected


@pytest.mark.parametrize("kept, expected", [("Mul(read, d)", ["UPDATES_NEVER_RUN"]), ("Add(read, d)", [])])
def test_statistics_that_are_assigned_their_own_value_times_a_decay_are_moved(kept, expected):
    text = AVERAGES.replace("seen/AssignMovingAvg = AssignSub(seen, x)", "d = Const()\n read = Identity(seen)")
    text += f"kept = {kept}\n total = Add(kept, x)\n moved = Assign(seen, total)"
    graph = graph_of(text, seen={"shape": tf.TensorShape([2])})
    whole = WholeGraph(saved(graph, trainable_variables=["w"]))
    assert [hazard.id for hazard in updates_never_run(whole)] == expected


@pytest.mark.parametrize(
    "change, expected",
    [("Sub(seen, x)", ["UPDATES_NEVER_RUN"]), ("Mul(x, x)", []), ("Sub(seen, w)", [])],
)
def test_statistics_that_were_written_by_hand_are_known_by_what_they_are_moved_by(change, expected):
    text = AVERAGES.replace("seen/AssignMovingAvg = AssignSub(seen, x)", f"by = {change}\nmoved = AssignSub(seen, by)")
    graph = graph_of(text, seen={"shape": tf.TensorShape([2])})
    whole = WholeGraph(saved(graph, trainable_variables=["w"]))
    assert [hazard.id for hazard in updates_never_run(whole)] == expected


@pytest.mark.parametrize(
    "wait, expected",
    [
        ("loss", ["UPDATES_RUN_BY_LOSS"]),  # the common slip: gradients pass the copy by
        ("other", ["UPDATES_NEVER_RUN"]),  # a copy of something else
        ("train", []),
    ],
)
def test_averages_that_a_copy_of_the_loss_waits_for_run_where_it_is_fetched(wait, expected):
    def build():
        w = v1.get_variable("w", [3, 1], use_resource=False)
        x = v1.placeholder(tf.float32, [2, 3], "x")
        loss = tf.reduce_mean(tf.abs(x @ w))
        kept = v1.train.ExponentialMovingAverage(0.9).apply([w])
        with tf.control_dependencies([kept]):
            copy = tf.identity(loss if wait != "other" else tf.reduce_sum(x), name="copy")
        minimized = copy if wait == "loss" else loss
        gradient = tf.gradients(minimized, w)[0]
        with tf.control_dependencies([kept] if wait == "train" else []):
            v1.train.GradientDescentOptimizer(0.5).apply_gradients([(gradient, w)], name="train")

    program = saved(traced(build), trainable_variables=["w"])
    found = list(updates_never_run(WholeGraph(program, analyse_graph(program, "x", ["train"]))))
    assert [hazard.id for hazard in found] == expected
    assert all("reading copy does" in hazard.description for hazard in found if wait == "loss")


@pytest.mark.parametrize("runs, trained, count", [(False, False, 1), (True, False, 0), (False, True, 0)])
def test_centers_that_the_step_does_not_move_are_named(runs, trained, count):
    """As those of a center loss, whose scatter_sub the train op does not depend on."""

    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        centers = v1.get_variable("centers", [5, 3], use_resource=False, trainable=trained)
        labels = v1.placeholder(tf.int32, [8], "labels")
        features = v1.placeholder(tf.float32, [8, 4], "x") @ w
        own = tf.gather(centers, labels)
        move = v1.scatter_sub(centers, labels, 0.5 * (own - features))
        loss = tf.reduce_mean(tf.square(features - own))
        train = v1.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=[centers, w] if trained else [w])
        tf.group(train, move if runs else train, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w", "centers"] if trained else ["w"]))
    whole.members = whole.graph.ancestors(["train"])
    assert len(list(updates_never_run(whole))) == count


#: Two towers, each of which trains a copy of the model; the step moves the statistic of the first one.
COPIES = """
    x = Placeholder()
    a/w = VariableV2()
    b/w = VariableV2()
    tower_0/y = Mul(a/w, x) @ /gpu:0
    tower_1/y = Mul(b/w, x) @ /gpu:1
    gradients/tower_0/y_grad/Mul = Mul(tower_0/y) @ /gpu:0
    gradients/tower_1/y_grad/Mul = Mul(tower_1/y) @ /gpu:1
    sum = AddN(gradients/tower_0/y_grad/Mul, gradients/tower_1/y_grad/Mul)
    train_a = ApplyGradientDescent(a/w, sum)
    train_b = ApplyGradientDescent(b/w, sum)
    a/mean = VariableV2()
    b/mean = VariableV2()
    a/AssignMovingAvg = AssignSub(a/mean, x)
    b/AssignMovingAvg = AssignSub(b/mean, x)
    train = NoOp(^train_a, ^train_b, ^a/AssignMovingAvg)
    """


@pytest.mark.parametrize(
    "old, new, expected",
    [
        ("", "", []),
        (", ^a/AssignMovingAvg", "", ["UPDATES_NEVER_RUN"]),  # no tower's
        ("b/mean", "b/other", ["UPDATES_NEVER_RUN"]),  # of another layer
        ("b/w", "a/w", ["UPDATES_NEVER_RUN"]),  # one model
    ],
)
def test_statistics_that_only_the_first_towers_copy_of_a_model_keeps_are_run(old, new, expected):
    """As tensorpack's replicated trainer, which saves the first tower's model alone."""
    text = COPIES.replace(old, new) if old else COPIES
    shape = {"shape": tf.TensorShape([3])}
    names = [name for name in ("a/mean", "b/mean", "b/other") if f"    {name} =" in text]
    graph = saved(graph_of(text, **dict.fromkeys(names, shape)), trainable_variables=["a/w", "b/w"])
    assert [hazard.id for hazard in updates_never_run(WholeGraph(graph))] == expected


@pytest.mark.parametrize(
    "runs, of_weights, count", [(False, True, 1), (True, True, 0), (False, False, 0)], ids=["never", "run", "fixed"]
)
def test_the_vector_of_a_power_iteration_that_no_step_moves_is_named(runs, of_weights, count):
    def build():
        w, u = v1.get_variable("w", [4, 3], use_resource=False), v1.get_variable("u", [1, 3], use_resource=False)
        v = tf.nn.l2_normalize(tf.matmul(u, w, transpose_b=True))
        after = tf.stop_gradient(tf.nn.l2_normalize(v @ w))
        norm = tf.reduce_sum((tf.stop_gradient(v) @ w) * after) if of_weights else 1.0
        move = [u.assign(after)] if of_weights else []
        loss = tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [8, 4], "x") @ (w / norm)))
        with tf.control_dependencies(move if runs else []):
            v1.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=[w], name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    assert [hazard.id for hazard in updates_never_run(whole)] == ["UPDATES_NEVER_RUN"] * count


@pytest.mark.parametrize(
    "runs, kept, expected",
    [
        ("none", "state", ["UPDATES_NEVER_RUN"]),
        ("loss", "state", ["UPDATES_RUN_BY_LOSS"]),
        ("train", "state", []),
        ("none", "zeros", []),  # it is set back between the passes over the data
        ("none", "copy", []),  # another network's weight
    ],
)
def test_a_state_that_each_step_begins_with_and_none_keeps_is_named(runs, kept, expected):
    def build():
        w = v1.get_variable("w", [3, 3], use_resource=False)
        state = v1.get_variable("state", [3, 3], trainable=False, use_resource=False)
        new = tf.tanh(tf.matmul(state, w) + v1.placeholder(tf.float32, [3, 3], "x"))
        keep = state.assign({"state": new, "zeros": tf.zeros([3, 3]), "copy": w}[kept])
        loss = tf.reduce_mean(tf.square(new))
        with tf.control_dependencies([keep] if runs == "loss" else []):
            loss = tf.identity(loss)
        with tf.control_dependencies([keep] if runs == "train" else []):
            v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    assert [hazard.id for hazard in updates_never_run(whole)] == expected
