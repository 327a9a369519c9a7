"""Lookups of trained rows for all towers at once, which each tower of a lift makes for itself."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.analysis.division.early_lookups import early_lookups
from legacy.saved.analysis.division.own_lookups import with_own_lookups
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1
WORDS = np.array([[1, 2], [0, 1], [2, 2], [0, 3]], np.int32)  # of both towers and of one, and twice in one
TRAINED = ["table", "w"]


def weight(name, shape, resource):
    with v1.variable_scope("", reuse=v1.AUTO_REUSE):
        return v1.get_variable(name, shape, initializer=v1.ones_initializer(), use_resource=resource)


def slices(rows):
    return [rows[:2], rows[2:]]


def slices_up_to(rows):
    """Of every dimension, the second up to a number that the tower computes."""
    longest = tf.reduce_max(v1.placeholder_with_default([1, 2], [2], "lengths"))
    return [rows[:2, :longest, :], rows[2:, :longest, :]]


def table_of_parts(rows, width, resource):
    """A table whose first rows are a variable of their own."""
    return tf.concat([weight("first", [2, width], resource), weight("table", [rows - 2, width], resource)], 0)


def step(
    parts=lambda rows: tf.split(rows, 2),
    resource=False,
    optimizer=lambda: v1.train.GradientDescentOptimizer(0.5),
    others=lambda rows: 0.0,
    apply_alone=False,
    scope="tower_{}",
):
    """Makes a step of two towers that take the parts of one lookup."""
    table, w = weight("table", [5, 3], resource), weight("w", [3, 2], resource)
    with tf.device("/cpu:0"):
        rows = tf.nn.embedding_lookup(table, v1.placeholder(tf.int32, [4, 2], "words"))
    made, towers = optimizer(), []
    for tower, part in enumerate(parts(rows)):
        with tf.device(f"/gpu:{tower}"), v1.name_scope(scope.format(tower) if scope else None):
            loss = tf.reduce_sum(tf.square(tf.tensordot(part, w, 1) - 4.0)) + others(rows)
            towers.append(made.compute_gradients(loss, [table, w]))
    if apply_alone:
        tf.group(*[made.apply_gradients(pairs) for pairs in towers], name="train")
        return
    (of_table, of_w) = ([pairs[number][0] for pairs in towers] for number in range(2))
    values, rows = (tf.concat([getattr(g, part) for g in of_table], 0) for part in ("values", "indices"))
    made.apply_gradients([(tf.IndexedSlices(values, rows, [5, 3]), table), (tf.add_n(of_w), w)], name="train")


def after_steps(graph):
    """The variables behind two steps; integers and powers of two, so that sums are exact in any order."""
    with tf.Graph().as_default() as built:
        tf.import_graph_def(graph.graph_def, name="")
        with v1.Session(graph=built, config=v1.ConfigProto(allow_soft_placement=True)) as session:
            names = [name for name in graph.nodes if graph.type(name) in ("VariableV2", "VarHandleOp")]
            session.run([name + "/Assign" for name in names])
            for _ in range(2):
                session.run("train", {"words:0": WORDS})
            reads = [name + ("/Read/ReadVariableOp:0" if "VarHandleOp" in graph.type(name) else ":0") for name in names]
            return dict(zip(names, session.run(reads)))


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize(
    "parts", [lambda rows: tf.split(rows, 2), lambda rows: tf.split(rows, [2, 2]), slices, slices_up_to]
)
@pytest.mark.parametrize(
    "optimizer",
    [lambda: v1.train.GradientDescentOptimizer(0.125), lambda: v1.train.MomentumOptimizer(0.125, 0.5)],
)
def test_each_tower_looks_up_its_own_rows_with_the_same_update(parts, resource, optimizer):
    graph = traced(lambda: step(parts, resource, optimizer))
    lookups = list(early_lookups(graph, TRAINED))
    assert [len(lookup.gradients) for lookup in lookups] == [2]
    changed = with_own_lookups(graph, lookups)
    assert not changed.ancestors(["train"]) & {lookups[0].name, *lookups[0].splits}
    before, after = after_steps(graph), after_steps(changed)
    assert not np.array_equal(before["table"], np.ones([5, 3]))
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_a_table_of_several_variables():
    def build():
        table = table_of_parts(5, 3, False)
        rows = tf.nn.embedding_lookup(table, v1.placeholder(tf.int32, [4, 2], "words"))
        variables, towers = [weight("first", [2, 3], False), weight("table", [3, 3], False)], []
        for tower, part in enumerate(tf.split(rows, 2)):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"):
                towers.append(tf.gradients(tf.reduce_sum(tf.square(part - 4.0)), variables))
        sums = [sum(tf.convert_to_tensor(g) for g in gradients) for gradients in zip(*towers)]
        v1.train.GradientDescentOptimizer(0.125).apply_gradients(list(zip(sums, variables)), name="train")

    graph = traced(build)
    lookups = list(early_lookups(graph, ["first", "table"]))
    before, after = after_steps(graph), after_steps(with_own_lookups(graph, lookups))
    assert len(lookups) == 1 and all(np.array_equal(before[name], after[name]) for name in ("first", "table"))
    assert not np.array_equal(before["first"], np.ones([2, 3]))


def test_rows_of_another_tower_in_a_gradient_are_seen():
    """The negative control: with the towers' indices exchanged, the table changes otherwise."""
    graph = traced(step)
    (lookup,) = early_lookups(graph, TRAINED)
    first, second = lookup.gradients
    exchanged = lookup._replace(gradients=[first._replace(part=second.part), second._replace(part=first.part)])
    assert not np.array_equal(after_steps(graph)["table"], after_steps(with_own_lookups(graph, [exchanged]))["table"])


@pytest.mark.parametrize(
    "build",
    [
        lambda: step(others=lambda rows: tf.nn.l2_loss(rows)),  # a term of all towers' rows
        lambda: step(optimizer=lambda: v1.train.MomentumOptimizer(0.5, 0.5), apply_alone=True),
        lambda: step(lambda rows: tf.split(rows, [1, 1], axis=1)),
        lambda: step(lambda rows: tf.unstack(tf.transpose(rows, [1, 0, 2]))),
        lambda: step(lambda rows: [tf.tanh(part) for part in tf.split(tf.tanh(rows), 2)]),  # computed for all
    ],
)
def test_other_lookups_stay_as_they_are(build):
    assert list(early_lookups(traced(build), TRAINED)) == []


def test_a_lookup_that_is_not_trained_prepares_data():
    assert list(early_lookups(traced(step), ["w"])) == []


@pytest.mark.parametrize("scope", ["tower_{}", None])
def test_the_indices_become_the_input_and_the_note_says_so(scope):
    """Also of towers that devices alone tell: each gradient has zeros of the other tower's part."""
    plan = analyse_graph(saved(traced(lambda: step(scope=scope))), "x", ["train"]).plan
    assert (plan.towers, plan.differences) == (2, [])
    assert [(entry.name, entry.shape) for entry in plan.inputs] == [("words", [2, 2])]
    assert any("in a lift, each tower looks up its own" in note for note in plan.notes)
    assert {variable.name for variable in plan.variables if variable.role == "weight"} == set(TRAINED)
