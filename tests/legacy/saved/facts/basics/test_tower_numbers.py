"""Numbers of the towers in a graph that has more of them than train."""

import types

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.tower_numbers import TowerNumbers, tower_in_graph, tower_numbers
from tests.legacy.saved.facts.tower_pages import hazards, sections_of, variable, watched
from tests.legacy.saved.graphs import graph_of, saved, traced

v1 = tf.compat.v1
TOWERS = 3


def only(trained, statistics=()):
    """A program of three towers that applies the gradients of one, and moves statistics by the batches of some."""

    def build():
        xs, ys = (tf.split(v1.placeholder(tf.float32, [12, size], name), TOWERS) for name, size in (("x", 3), ("y", 4)))
        moved, gradients = [], []
        for tower in range(TOWERS):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                made = tf.tanh(tf.matmul(xs[tower], variable("w", 3, 4)))
                mean = variable("mean", 4, trainable=False)
                moved.append(v1.assign(mean, 0.9 * mean + 0.1 * tf.reduce_mean(made, 0), name="move"))
                gradients.append(tf.gradients(tf.reduce_mean(tf.square(made - ys[tower])), v1.trainable_variables()))
        with tf.control_dependencies([moved[tower] for tower in statistics]):
            pairs = zip(gradients[trained], v1.trainable_variables())
            v1.train.GradientDescentOptimizer(0.1).apply_gradients(pairs, name="train")

    return build


@pytest.mark.parametrize("trained, statistics, in_graph", [(2, (), {0: 2}), (2, (0,), {0: 0, 1: 2}), (0, (), {0: 0})])
def test_towers_of_a_step_keep_their_numbers(trained, statistics, in_graph):
    graph = saved(traced(only(trained, statistics)), trainable_variables=["w"])
    found = analyse_graph(graph, "small", ["train"])
    numbers = tower_numbers(found)
    assert numbers.total == TOWERS and {tower: numbers.of(tower) for tower in in_graph} == in_graph
    assert [tower_in_graph(found, numbers, f"tower_{tower}/move") for tower in range(TOWERS)] == [0, 1, 2]


def test_towers_that_all_train_have_the_numbers_of_the_step():
    def build():
        towers = []
        for tower, x in enumerate(tf.split(v1.placeholder(tf.float32, [8, 3], "x"), 2)):
            with tf.device(f"/gpu:{tower}"):
                towers.append(tf.gradients(tf.reduce_mean(tf.matmul(x, variable("w", 3, 4))), variable("w", 3, 4))[0])
        v1.train.GradientDescentOptimizer(0.1).apply_gradients(
            [(tf.add_n(towers) / 2, variable("w", 3, 4))], name="train"
        )

    found = analyse_graph(saved(traced(build), trainable_variables=["w"]), "small", ["train"])
    numbers = tower_numbers(found)
    assert (numbers.total, numbers.in_graph, numbers.of(1)) == (2, {}, 1)


def test_the_page_of_a_program_that_trains_by_its_last_tower_alone():
    page = sections_of(only(2, [2]))
    towers = {row["what"]: row["is"] for row in page["towers"]}
    assert (towers["number"], towers["batch of one"]) == ("1 of the graph's 3: tower 2", "12, of which 4 train")
    assert page["losses"][0]["is"] == "the loss of tower 2"
    assert [row["changed by"] for row in page["statistics"]] == ["tower 2"]
    assert sections_of(only(0))["losses"][0]["is"] == "the loss of the first tower"


def test_statistics_of_all_towers_beside_the_gradients_of_the_last():
    page = sections_of(only(2, range(TOWERS)))
    assert page["towers"][0]["is"] == "3"
    assert [row["changed by"] for row in page["statistics"]] == ["3 ops: tower 0 / tower 1 / tower 2"]


def test_what_the_last_tower_alone_takes_is_no_batch_of_all():
    page = sections_of(only(2, [0]))
    assert page["towers"][0]["is"] == "2 of the graph's 3: towers 0, 2"
    assert [row["kind"] for row in page["inputs"]] == ["batch", "tower 2's alone"]
    assert "train: gradients of tower 2 alone are applied to w" in watched(page)
    assert not [text for text in watched(page) if "the same data" in text] and "SAME_BATCH" not in hazards(page)


@pytest.mark.parametrize("other, tower", [("mean", 0), ("tower_1/y", None)])
def test_an_update_that_is_placed_with_its_variable_is_that_of_the_tower_before_it(other, tower):
    """As that of moving statistics, where variables have a device; of both towers' moments it is neither's."""
    graph = graph_of(f"""
        x = Placeholder()
        mean = VariableV2()
        rate = Const() @ /gpu:1
        tower_0/y = Square(x) @ /gpu:0
        tower_1/y = Square(x) @ /gpu:1
        less = Sub({other}, tower_0/y)
        scaled = Mul(less, rate)
        move = AssignSub(mean, scaled)
    """)
    numbers = TowerNumbers(2, "device /gpu:k", {}, {"tower_0/y": 0, "tower_1/y": 1, "rate": 1, "x": 1})
    assert tower_in_graph(types.SimpleNamespace(whole=graph), numbers, "move") == tower
