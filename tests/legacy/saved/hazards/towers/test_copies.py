"""Copies of a model that begin apart, or that the train op does not set, beside copies that are kept equal."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.towers.copies import copies_that_are_not_set, copies_that_begin_apart
from legacy.saved.hazards.training.changes import nothing_trained
from legacy.saved.hazards.updates.gradients import gradients_of_others
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def begin_apart(seed=None, synchronized=False, combined=True, fed=None):
    """The hazards of two towers with a copy each, that begin with random numbers."""

    def build():
        halves = tf.split(v1.placeholder(tf.float32, [4, 3], "x"), 2)
        copies, gradients = [], []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                draw = v1.random_normal_initializer(seed=seed)
                copies.append(v1.get_variable(f"w{tower}", [3, 1], initializer=draw, use_resource=False))
                gradients.append(tf.gradients(tf.reduce_mean(tf.square(halves[tower] @ copies[-1])), copies[-1:])[0])
        mean = tf.add_n(gradients) / 2.0
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        updates = [(mean if combined else own, copy) for own, copy in zip(gradients, copies)]
        optimizer.apply_gradients(updates, name="train")
        if synchronized:
            tf.group(copies[1].assign(copies[0]), name="synchronize")
        if fed is not None:  # as of pretrained weights, or of the values of another copy
            other = v1.get_variable("other", [3, 1], trainable=False, use_resource=False)
            v1.assign([*copies, other][fed], v1.placeholder(tf.float32, [3, 1], "new_value"), name="set")

    graph = saved(traced(build), trainable_variables=["w0", "w1"])
    return [hazard.id for hazard in copies_that_begin_apart(WholeGraph(graph))]


@pytest.mark.parametrize(
    "settings, ids",
    [
        ({}, ["COPIES_BEGIN_APART"]),
        ({"seed": 3}, []),
        ({"synchronized": True}, []),
        ({"fed": 0}, []),
        ({"fed": 1}, []),
        ({"fed": 2}, ["COPIES_BEGIN_APART"]),
        ({"combined": False}, []),  # separate models, which VARIABLES_NOT_SHARED names
    ],
)
def test_copies_that_begin_with_random_numbers_of_their_own_are_named(settings, ids):
    assert begin_apart(**settings) == ids


def not_set(train_ops, uses_master=False, exchanged=False):
    """The hazards of a program whose loss is of copies of the trained variables, as a worker's."""
    whole, found = with_copies(train_ops, uses_master, exchanged)
    hazards = [*copies_that_are_not_set(whole), *gradients_of_others(whole), *nothing_trained(whole, found)]
    return [hazard.id for hazard in hazards]


def with_copies(train_ops, uses_master=False, exchanged=False):
    """The graph of such a program, and its analysis."""

    def build():
        x = v1.placeholder(tf.float32, [4, 3], "x")
        masters = [v1.get_variable(name, [3, 3], use_resource=False) for name in ("v", "w")]
        copies = [v1.get_variable(f"copy_{name}", [3, 3], trainable=False, use_resource=False) for name in ("v", "w")]
        product = x @ copies[0] @ copies[1]
        if uses_master:  # as a target network, whose online one is trained
            product = product - x @ masters[0] @ masters[1]
        of = masters if uses_master else copies
        gradients = tf.gradients(tf.reduce_mean(tf.square(product)), of)
        pairs = zip(reversed(gradients) if exchanged else gradients, masters)
        v1.train.GradientDescentOptimizer(0.5).apply_gradients(pairs, name="train")
        tf.group(*[copy.assign(master) for copy, master in zip(copies, masters)], name="synchronize")

    graph = saved(traced(build), trainable_variables=["v", "w"])
    found = analyse_graph(graph, "made-for-a-test", train_ops)
    return WholeGraph(graph, found), found


@pytest.mark.parametrize(
    "settings, ids",
    [
        ({"train_ops": ["train"]}, ["COPIES_NOT_SET"]),
        ({"train_ops": ["train", "synchronize"]}, []),
        ({"train_ops": ["train"], "uses_master": True}, []),
        ({"train_ops": ["train"], "exchanged": True}, ["COPIES_NOT_SET", "GRADIENT_OF_ANOTHER"]),
    ],
)
def test_copies_that_only_another_run_sets_are_named(settings, ids):
    assert not_set(**settings) == ids


def test_copies_are_of_old_weights_unless_the_op_that_sets_them_runs_before_each_step():
    (hazard,) = copies_that_are_not_set(with_copies(["train"])[0])
    condition = "its gradients are of old weights, unless the program runs synchronize before each step"
    assert hazard.description.endswith(condition)
