"""Rows that several towers take, or none, beside a batch that is dealt out whole."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.data.batches import dealt_rows, dropped_remainder, parts_of_no_tower
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(bounds, size=8, check=dealt_rows):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        x = v1.placeholder(tf.float32, [size, 4], "x")
        gradients = []
        for tower, (first, last) in enumerate(bounds(x) if callable(bounds) else bounds):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients.append(tf.gradients(tf.reduce_mean(tf.square(x[first:last] @ w)), [w])[0])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) / 2.0, w)], name="train")

    whole = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(whole, "made-for-a-test")
    return list(check(WholeGraph(whole, analysis), analysis))


def test_rows_of_several_towers_are_named():
    (hazard,) = found([(0, 4), (1, 5)])
    assert hazard.id == "ROWS_OVERLAP" and "none takes 3 of its 8" in hazard.description


def test_rows_of_no_tower_are_named():
    (hazard,) = found([(0, 4), (4, 8)], size=10)
    assert hazard.id == "ROWS_LEFT_OUT" and "rows 0 to 3, 4 to 7 of x, and none takes 2 of its 10" in hazard.description


@pytest.mark.parametrize(
    "bounds, size", [([(0, 4), (4, 8)], 8), ([(None, 4), (4, None)], 8), ([(0, 4), (-4, None)], 8)]
)
def test_rows_that_are_dealt_out_are_not(bounds, size):
    assert found(bounds, size) == []


def test_a_rest_of_an_open_batch_is_named():
    def halves(x):
        n = tf.shape(x)[0] // 2
        return [(0 * n, 1 * n), (1 * n, 2 * n)]

    (hazard,) = found(halves, None, dropped_remainder)
    assert hazard[:2] == ("ROWS_LEFT_OUT", "x") and "of a batch that is no multiple of 2" in hazard.description


def test_a_rest_that_the_last_tower_takes_is_not():
    def halves(x):
        n = tf.shape(x)[0] // 2
        return [(0 * n, n), (n, tf.shape(x)[0])]

    assert found(halves, None, dropped_remainder) == []
    assert found([(0, 4), (4, 8)], 8, dropped_remainder) == []


@pytest.mark.parametrize("parts, towers, count", [(3, 2, 1), (2, 2, 0), (3, 3, 0)])
def test_a_part_of_a_split_that_nothing_takes_is_named(parts, towers, count):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        split = tf.split(v1.placeholder(tf.float32, [12, 4], "x"), parts, name="split")
        gradients = []
        for tower in range(towers):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients.append(tf.gradients(tf.reduce_mean(tf.square(split[tower] @ w)), [w])[0])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) / towers, w)], name="train")

    found = list(parts_of_no_tower(WholeGraph(saved(traced(build), trainable_variables=["w"]))))
    assert [hazard[:2] for hazard in found] == [("ROWS_LEFT_OUT", "split")] * count
