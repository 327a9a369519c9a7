"""All checks together, of a graph alone and with its analysis."""

import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.hazards import search
from legacy.saved.hazards.search import find_hazards
from tests.legacy.saved.graphs import graph_of, saved, traced

v1 = tf.compat.v1

NOT_APPLIED = """
    tower_0/y = Neg(x)
    gradients/tower_0/y_grad/Neg = Neg(tower_0/y)
    tower_1/y = Neg(x)
    gradients/tower_1/y_grad/Neg = Neg(tower_1/y)
    x = Placeholder()
    """


def test_a_graph_that_trains_nothing_is_checked_without_an_analysis():
    (row,) = find_hazards(saved(graph_of(NOT_APPLIED)))
    assert row["hazard"] == "GRADIENTS_NOT_APPLIED" and list(row) == ["hazard", "op", "what", "in tf.distribute"]


def kept_of_first_tower(keep):
    """A program of two towers in which `keep` gives a statistic a value by the first tower's examples."""

    def build():
        w = v1.get_variable("w", [2], use_resource=False)
        mean = v1.get_variable("mean", [2], use_resource=False, trainable=False)
        xs = [v1.placeholder(tf.float32, [4, 2], f"x{tower}") for tower in range(2)]
        gradients = []
        for tower, x in enumerate(xs):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"):
                gradients.append(tf.gradients(tf.reduce_mean(tf.square(x * w)), [w])[0])
                if tower == 0:
                    moved = keep(mean, tf.reduce_mean(x, 0))
        update = v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients) / 2.0, w)])
        tf.group(update, moved, name="train")
        tf.identity(mean, "shown")

    return saved(traced(build), trainable_variables=["w"])


def test_an_analysis_adds_checks():
    graph = kept_of_first_tower(lambda mean, value: v1.assign_add(mean, value))
    assert find_hazards(graph) == []
    (row,) = find_hazards(graph, analyse_graph(graph, "small"))
    assert (row["hazard"], row["op"]) == ("STATISTICS_OF_ONE_TOWER", "mean")


def test_what_an_analysis_sees_too_is_named_once():
    graph = kept_of_first_tower(lambda mean, value: v1.assign_sub(mean, 0.1 * (mean - value)))
    rows = [find_hazards(graph), find_hazards(graph, analyse_graph(graph, "small"))]
    found = [[(row["hazard"], row["op"]) for row in each] for each in rows]
    assert found == [[("STATISTICS_OF_ONE_TOWER", "mean")]] * 2


def clipped(name, value):
    """A run that trains one weight and clips it besides, in no order."""
    w = v1.get_variable(name, [2], use_resource=False)
    (gradient,) = tf.gradients(tf.reduce_mean(tf.square(value * w)), [w])
    update = v1.train.GradientDescentOptimizer(0.5).apply_gradients([(gradient, w)])
    tf.group(update, v1.assign(w, tf.clip_by_value(w, -1.0, 1.0)), name=f"train_{name}")


def test_a_run_that_recurs_in_a_period_is_named_once():
    def build():
        x = v1.placeholder(tf.float32, [4, 2], "x")
        clipped("critic", x)
        clipped("actor", x)

    graph = saved(traced(build), trainable_variables=["critic", "actor"])
    runs = ["train_critic", "train_critic", "train_actor"]
    rows = find_hazards(graph, analyse_graph(graph, "small", runs))
    raced = [row["what"] for row in rows if row["hazard"] == "WEIGHTS_RACE"]
    assert len(raced) == 2 and "(critic)" in raced[0] and "(actor)" in raced[1]


def test_a_check_that_fails_says_so_and_the_others_are_made(monkeypatch):
    def broken(whole):
        yield from ()
        raise KeyError("tower_0/y")

    monkeypatch.setattr(search, "GRAPH_CHECKS", (broken, *search.GRAPH_CHECKS))
    failed, found = find_hazards(saved(graph_of(NOT_APPLIED)))
    assert failed["hazard"] == "NOT_CHECKED" and "KeyError: 'tower_0/y'" in failed["what"]
    assert failed["op"] == "test_search.broken" and found["hazard"] == "GRADIENTS_NOT_APPLIED"
