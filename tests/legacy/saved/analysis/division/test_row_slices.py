"""Slices by a tower's rows and up to a length that it computes, which become two slices."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.analysis.division.row_slices import with_row_slices
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.data.batches import dealt_rows
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1
WORDS, LENGTHS = np.arange(24.0, dtype=np.float32).reshape(4, 6), np.array([2, 3, 5, 1], np.int32)


def parts_of(take, shared=False):
    """What two towers take of a batch by `take(words, first row, the tower's largest length)`."""

    def build():
        words, lengths = v1.placeholder(tf.float32, [4, 6], "words"), v1.placeholder(tf.int32, [4], "lengths")
        w = v1.get_variable("w", [], initializer=v1.ones_initializer(), use_resource=False)
        towers = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"):
                longest = tf.reduce_max(lengths[2 * tower : 2 * tower + 2])
                part = tf.identity(take(words * w if shared else words, 2 * tower, longest), "part")
                towers.append(tf.gradients(tf.reduce_mean(tf.square(part * w - 1.0)), [w])[0])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(towers) / 2.0, w)], name="train")

    return traced(build)


def values(graph):
    with tf.Graph().as_default() as built:
        tf.import_graph_def(graph.graph_def, name="")
        with v1.Session(graph=built, config=v1.ConfigProto(allow_soft_placement=True)) as session:
            session.run("w/Assign")
            names = [f"tower_{tower}/part:0" for tower in range(2)]
            return session.run(names, {"words:0": WORDS, "lengths:0": LENGTHS})


@pytest.mark.parametrize(
    "take",
    [
        lambda x, row, longest: x[row : row + 2, :longest],
        lambda x, row, longest: x[row : row + 2, 1:longest],
        lambda x, row, longest: x[row : row + 2, longest - 1 :],
        lambda x, row, longest: x[row : row + 2, : longest + 1 : 2],
    ],
)
def test_rows_and_a_computed_length_are_taken_one_after_the_other(take):
    graph = parts_of(take)
    changed = with_row_slices(graph, ["w"])
    made = [name for name in changed.nodes if name.endswith("/rows")]
    assert len(made) == 2
    before, after = values(graph), values(changed)
    assert all(np.array_equal(one, other) for one, other in zip(before, after))
    assert before[0].shape != before[1].shape
    plan = analyse_graph(saved(graph), "x", ["train"]).plan
    assert (plan.towers, plan.differences) == (2, [])
    assert {(entry.name, tuple(entry.shape)) for entry in plan.inputs} == {("words", (2, 6)), ("lengths", (2,))}


@pytest.mark.parametrize(
    "take",
    [
        lambda x, row, longest: x[row : row + 2, :3],  # all places are constants
        lambda x, row, longest: x[:, :longest],  # no rows are chosen
        lambda x, row, longest: x[row, :longest],  # one row, without its dimension
        lambda x, row, longest: x[longest : row + 4, :3],  # the rows are computed
        lambda x, row, longest: x[:2, :longest],  # the same rows in both towers
    ],
)
def test_other_slices_stay_as_they_are(take):
    graph = parts_of(take)
    assert with_row_slices(graph, ["w"]) is graph


def test_slices_of_what_is_trained_stay_as_they_are():
    graph = parts_of(lambda x, row, longest: x[row : row + 2, :longest], shared=True)
    assert with_row_slices(graph, ["w"]) is graph


@pytest.mark.parametrize("step, overlaps", [(1, True), (2, False)])
def test_rows_that_two_towers_take_are_named(step, overlaps):
    def build():
        words, lengths = v1.placeholder(tf.float32, [4, 6], "words"), v1.placeholder(tf.int32, [4], "lengths")
        w = v1.get_variable("w", [], use_resource=False)
        towers = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"):
                longest = tf.reduce_max(lengths[2 * tower : 2 * tower + 2])
                part = words[step * tower : step * tower + 2, :longest]
                towers.append(tf.gradients(tf.reduce_mean(tf.square(part * w - 1.0)), [w])[0])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(towers) / 2.0, w)], name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    found = analyse_graph(graph, "x", ["train"])
    assert [hazard.id for hazard in dealt_rows(WholeGraph(graph, found), found)] == ["ROWS_OVERLAP"] * overlaps
