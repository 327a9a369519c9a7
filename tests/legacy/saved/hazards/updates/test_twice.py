"""Variables that a step updates twice, averages that are trained, and averages that keep little of themselves."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.hazards.updates import twice
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def two_updates(make_train):
    """The hazards of a program of two towers; `make_train` gets the gradients of each, the optimizers, and w."""

    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        halves = tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2)
        gradients = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients.append(tf.gradients(tf.reduce_mean(tf.square(halves[tower] @ w)), [w])[0])
        optimizers = v1.train.GradientDescentOptimizer(0.5), v1.train.GradientDescentOptimizer(0.25, name="Other")
        tf.group(make_train(gradients, optimizers, w), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "made-for-a-test", ["train"])
    return [hazard[:2] for hazard in twice.updated_twice(WholeGraph(graph, analysis), analysis)]


def test_an_update_that_is_left_beside_the_combined_one_is_named():
    def both(gradients, optimizers, w):
        mean = tf.add_n(gradients) / 2.0
        return [optimizers[0].apply_gradients([(mean, w)]), optimizers[1].apply_gradients([(gradients[1], w)])]

    ((hazard, _),) = two_updates(both)
    assert hazard == "UPDATED_TWICE"


def test_one_update_or_one_of_each_tower_is_not():
    assert two_updates(lambda gradients, optimizers, w: optimizers[0].apply_gradients([(tf.add_n(gradients), w)])) == []
    each = lambda gradients, optimizers, w: [o.apply_gradients([(g, w)]) for g, o in zip(gradients, optimizers)]  # noqa: E731
    assert two_updates(each) == []


def averages(check, share, trained=False, resource=False, branch=False):
    """The hazards of a step after which "teacher" keeps a share of itself and takes the rest of "w"."""

    def build():
        w, teacher = (v1.get_variable(name, [4, 3], use_resource=resource) for name in ("w", "teacher"))
        x = v1.placeholder(tf.float32, [8, 4], "x")
        loss = tf.reduce_mean(tf.square(x @ w - x @ teacher))
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        update = optimizer.minimize(loss, var_list=[w, teacher] if trained else [w])
        with tf.control_dependencies([update]):
            if share is None:
                moved = v1.assign(teacher, w)
            else:
                moved = v1.assign_sub(teacher, (teacher - w) * (tf.constant(1.0) - tf.constant(share)))
        tf.group(moved, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w", "teacher"]))
    whole.members = whole.graph.ancestors(["train"])
    return [hazard for hazard in check(whole)]


@pytest.mark.parametrize("resource", [True, False])
def test_a_teacher_that_is_trained_and_averaged_is_named(resource):
    (hazard,) = averages(twice.averages_that_are_trained, 0.75, trained=True, resource=resource)
    assert hazard.id == "AVERAGE_TRAINED" and "teacher follows w" in hazard.description


@pytest.mark.parametrize("share, trained", [(0.75, False), (None, True)])
def test_a_teacher_that_is_averaged_alone_or_set_is_not(share, trained):
    assert averages(twice.averages_that_are_trained, share, trained) == []


@pytest.mark.parametrize("resource", [True, False])
@pytest.mark.parametrize("share, count", [(0.0625, 1), (0.25, 1), (0.5, 0), (0.9375, 0), (None, 0)])
def test_an_average_that_keeps_little_is_named(share, count, resource):
    found = averages(twice.averages_that_keep_little, share, resource=resource)
    assert [hazard.id for hazard in found] == ["AVERAGE_KEEPS_LITTLE"] * count
