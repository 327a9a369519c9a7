"""The sections of the page of `legacy.inspect`."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.rows import ASSUMED, NOT_ANALYSED
from legacy.saved.hazards import search
from legacy.saved.report import page
from legacy.saved.report.page import inspect_graph
from tests.legacy.saved.graphs import graph_of, traced
from tests.legacy.saved.hazards.test_search import NOT_APPLIED
from tests.legacy.saved.programs import two_towers
from workloads.support.errors import InputError

v1 = tf.compat.v1


def written(graph, tmp_path):
    path = tmp_path / "graph.pb"
    path.write_bytes(graph.graph_def.SerializeToString())
    return str(path)


def test_an_analysed_graph_has_all_sections(tmp_path):
    path = written(two_towers(), tmp_path)
    sections = inspect_graph(path)
    assert list(sections)[:3] == ["program", "towers", "inputs"] and list(sections)[-2:] == ["hazards", "next"]
    assert {row["what"]: row["is"] for row in sections["next"]} == {
        "can be lifted": "yes",
        "replicas": "any number",
        "constants": "stay those of 2 towers; a learning rate, a divisor of losses or the steps of a decay that was "
        "computed from that number is changed in the source (--source=port.py)",
        "parameters": "2 in 1 weight; 5 in all variables that a step uses",
        "next command": f"python -m legacy.lift {path} --out=lifted",
        "then": "python -m parity.verify --workload=lifted",
    }
    assert sections["hazards"] == []


def test_a_graph_that_cannot_be_analysed_still_has_hazards(tmp_path):
    floats = {line.split(" = ")[0].strip(): {"T": tf.float32} for line in NOT_APPLIED.splitlines() if "Neg" in line}
    sections = inspect_graph(written(graph_of(NOT_APPLIED, x={"dtype": tf.float32}, **floats), tmp_path))
    known = ["program", "towers", "inputs", "optimizers", "variables", "devices"]
    assert list(sections) == [NOT_ANALYSED, *known, "hazards", "next"]
    assert sections["inputs"][0]["name"] == "x" and sections["towers"][0]["is"] == "2"
    assert sections["next"][0]["is"].startswith("no: graph file: no update op")
    assert sections[NOT_ANALYSED][0]["what"].startswith("graph file: no update op")


def test_a_graph_that_cannot_be_analysed_is_described_once(monkeypatch, tmp_path):
    """Facts and hazards take the same description: of a large graph it takes long."""
    described, describe = [], page.WholeGraph
    monkeypatch.setattr(page, "WholeGraph", lambda saved: described.append(saved) or describe(saved))
    monkeypatch.setattr(search, "WholeGraph", None)
    floats = {line.split(" = ")[0].strip(): {"T": tf.float32} for line in NOT_APPLIED.splitlines() if "Neg" in line}
    graph = graph_of(NOT_APPLIED, x={"dtype": tf.float32}, **floats)
    assert [row["hazard"] for row in inspect_graph(written(graph, tmp_path))["hazards"]] == ["GRADIENTS_NOT_APPLIED"]
    assert len(described) == 1


def test_a_graph_without_facts_and_hazards_is_refused(tmp_path):
    graph = traced(lambda: tf.square(v1.placeholder(tf.float32, [2], "x")))
    with pytest.raises(InputError, match="no update op"):
        inspect_graph(written(graph, tmp_path))


def take_turns():
    """Two towers whose two train ops change a weight each."""
    with tf.device("/cpu:0"):
        weights = [v1.get_variable(name, [2], tf.float32) for name in "vw"]
    gradients = {weight.name: [] for weight in weights}
    for tower in range(2):
        with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
            x = v1.placeholder(tf.float32, [2], "x")
            for weight in weights:
                gradients[weight.name] += tf.gradients(tf.reduce_mean(tf.square(x * weight)), [weight])
    descent = v1.train.GradientDescentOptimizer(0.5)
    for weight, name in zip(weights, ("critic", "actor")):
        descent.apply_gradients([(sum(gradients[weight.name]) / 2.0, weight)], name=name)


def test_several_train_ops_are_assumed_to_take_turns_in_the_order_of_the_graph(tmp_path):
    path = written(traced(take_turns), tmp_path)
    sections = inspect_graph(path)
    assert sections[ASSUMED][0]["what"].startswith("the program runs critic, actor in turn, each in a run of its own")
    commands = {row["what"]: row["is"] for row in sections["next"]}
    assert commands["next command"] == f"python -m legacy.lift {path} --out=lifted --train_op=critic,actor"
    assert commands["can be lifted"] == "yes, if its train ops take turns"
    assert "--train_op=critic+actor if one run fetches all" in commands["other runs"]
    named = inspect_graph(path, ["critic", "actor"])
    assert ASSUMED not in named and named["next"][0]["is"] == "yes"
    rest = {title: rows for title, rows in sections.items() if title != "next"}
    assert {ASSUMED: sections[ASSUMED], **named} == {**rest, "next": named["next"]}
    assert [row for row in sections["next"] if row not in named["next"]] == [sections["next"][i] for i in (0, -1)]


@pytest.mark.parametrize("repeated", [False, True])
def test_one_of_two_train_ops_of_the_same_weights_may_be_run_alone(repeated, tmp_path):
    """As where a program makes its train op twice, and the second one takes the Python name of the first."""

    def build():
        weights = [v1.get_variable(name, [2], tf.float32) for name in "vw"]
        descent = v1.train.GradientDescentOptimizer(0.5)
        x = v1.placeholder(tf.float32, [2], "x")
        loss = tf.reduce_mean(tf.square(x * (weights[0] + weights[1])))
        for weight, name in zip(weights, ("first", "second")):
            descent.minimize(loss, var_list=weights if repeated else [weight], name=name)

    (others,) = [
        row["is"] for row in inspect_graph(written(traced(build), tmp_path))["next"] if row["what"] == "other runs"
    ]
    alone = ", --train_op=first or --train_op=second if the program runs one of them alone"
    assert others.endswith(alone) == repeated


@pytest.mark.parametrize("runs", ["critic+actor", "critic,critic,actor"])
def test_the_flags_of_other_runs_name_runs_that_can_be_analysed(runs, tmp_path):
    path = written(traced(take_turns), tmp_path)
    (others,) = [row["is"] for row in inspect_graph(path)["next"] if row["what"] == "other runs"]
    assert f"--train_op={runs} " in others
    assert inspect_graph(path, runs.split(","))["next"][0]["is"] == "yes"


def test_a_train_op_to_choose_is_the_next_command(tmp_path):
    text = """
        a = VariableV2()
        b = VariableV2()
        x = Placeholder()
        gradients/y_grad/Neg = Neg(x)
        train_a = ApplyGradientDescent(a, x, gradients/y_grad/Neg)
        train_b = ApplyGradientDescent(b, x, gradients/y_grad/Neg)
        shared = ApplyGradientDescent(b, x, gradients/y_grad/Neg)
        step_a = NoOp(^train_a, ^shared)
        step_b = NoOp(^train_b, ^shared)
        """
    dtype = {name: {"T": tf.float32} for name in ("gradients/y_grad/Neg", "train_a", "train_b", "shared")}
    shape = {"dtype": tf.float32, "shape": tf.TensorShape([])}
    path = written(graph_of(text, a=shape, b=shape, x={"dtype": tf.float32}, **dtype), tmp_path)
    sections = inspect_graph(path)
    assert [row["rule"] for row in sections["optimizers"]] == ["GradientDescent"]
    assert sections["next"][1]["is"] == f"python -m legacy.inspect {path} --train_op=NAME"


def test_the_losses_rates_and_statistics_of_a_program_that_is_not_analysed_are_shown(tmp_path):
    """A layer of the whole batch before the towers take their parts, which a lift refuses."""

    def build():
        first = v1.get_variable("first", [3, 3], use_resource=False)
        hidden = tf.split(v1.placeholder(tf.float32, [4, 3], "x") @ first, 2)
        weights, moved = [first], []
        for layer in range(2):
            weights.append(v1.get_variable(f"w{layer}", [3, 3], use_resource=False))
            moving = v1.get_variable(f"mean{layer}", [3], trainable=False, use_resource=False)
            hidden = on_towers(lambda tower, x, w=weights[-1]: x @ w, hidden)
            mean = tf.add_n(on_towers(lambda tower, x: tf.reduce_mean(x, 0), hidden)) / 2.0
            squares = on_towers(lambda tower, x, m=mean: tf.reduce_mean(tf.square(x - m), 0), hidden)
            deviation = tf.sqrt(tf.add_n(squares) / 2.0 + 0.001)
            hidden = on_towers(lambda tower, x, m=mean, d=deviation: tf.tanh((x - m) / d), hidden)
            moved.append(v1.assign_sub(moving, 0.1 * (moving - mean)))
        losses = on_towers(lambda tower, x: tf.reduce_mean(tf.square(x - 1.0)), hidden)
        gradients = tf.gradients(tf.add_n(losses) / 2.0, weights)
        update = v1.train.GradientDescentOptimizer(0.5).apply_gradients(list(zip(gradients, weights)))
        tf.group(update, *moved, name="train")

    sections = inspect_graph(written(traced(build), tmp_path))
    assert "computes what towers get as data" in sections[NOT_ANALYSED][0]["what"]
    order = ["inputs", "losses", "optimizers", "learning rates", "variables", "statistics", "devices"]
    assert list(sections)[3:-2] == order
    assert [row["is"].rpartition("; ")[2] for row in sections["losses"]][1:] == ["it depends on data"] * 2
    assert [row["is"] for row in sections["learning rates"]] == ["0.5, always"]
    assert [row["decay"] for row in sections["statistics"]] == ["0.9", "0.9"]


def on_towers(function, parts):
    """What a function makes of (tower, its part), each on the device of the tower."""
    made = []
    for tower, part in enumerate(parts):
        with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
            made.append(function(tower, part))
    return made
