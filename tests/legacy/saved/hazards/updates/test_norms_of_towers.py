"""Gradients that are clipped by another tower's norm, beside those clipped by their own or by all towers'."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.updates import norms_of_towers
from legacy.saved.hazards.updates.norms_of_towers import clipped_by_another_tower, guarded_by_one_tower
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(choose_norm):
    """The hazards of two towers whose gradients are clipped by a norm that `choose_norm` chooses of both."""

    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        halves = tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2)
        gradients = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients.append(tf.gradients(tf.reduce_mean(tf.square(halves[tower] @ w)), [w])[0])
        norms = [tf.linalg.global_norm([gradient]) for gradient in gradients]
        clipped = [
            tf.clip_by_global_norm([gradient], 1.0, use_norm=choose_norm(norms, tower))[0][0]
            for tower, gradient in enumerate(gradients)
        ]
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(clipped) / 2.0, w)], name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    return [hazard.id for hazard in clipped_by_another_tower(whole)]


@pytest.mark.parametrize("choose", [lambda norms, tower: norms[0], lambda norms, tower: norms[1 - tower]])
def test_clipping_by_another_towers_norm_is_named(choose):
    assert found(choose) == ["CLIPPED_BY_ANOTHER_TOWER"]


@pytest.mark.parametrize("choose", [lambda norms, tower: norms[tower], lambda norms, tower: tf.add_n(norms)])
def test_clipping_by_the_own_norm_or_that_of_all_is_not(choose):
    assert found(choose) == []


@pytest.mark.parametrize(
    "choose, count",
    [
        (lambda gradients, mean: gradients[:1], 1),
        (lambda gradients, mean: gradients, 0),
        (lambda gradients, mean: [mean], 0),
    ],
)
def test_combined_gradients_that_are_clipped_by_one_towers_norm_are_named(choose, count):
    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        halves, gradients = tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2), []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients.append(tf.gradients(tf.reduce_mean(tf.square(halves[tower] @ w)), [w])[0])
        mean = tf.add_n(gradients) / 2.0
        norm = tf.linalg.global_norm(choose(gradients, mean))
        clipped = tf.clip_by_global_norm([mean], 1.0, use_norm=norm)[0][0]
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(clipped, w)], name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    hazards = list(clipped_by_another_tower(WholeGraph(graph)))
    assert len(hazards) == count and not list(guarded_by_one_tower(WholeGraph(graph)))
    assert all("of towers 0, 1 by a norm of those of tower 0 alone" in hazard.description for hazard in hazards)


@pytest.mark.parametrize("is_choice", [True, False])
@pytest.mark.parametrize(
    "guard, count",
    [
        (lambda losses, gradients: losses[0], 1),
        (lambda losses, gradients: gradients[1], 1),
        (lambda losses, gradients: tf.add_n(losses), 0),
        (lambda losses, gradients: tf.add_n(gradients), 0),
        (lambda losses, gradients: tf.constant(1.0), 0),
    ],
)
def test_updates_that_one_towers_results_guard_are_named(guard, count, is_choice):
    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        halves, losses, gradients = tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2), [], []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                losses.append(tf.reduce_mean(tf.square(halves[tower] @ w)))
                gradients.append(tf.gradients(losses[-1], [w])[0])
        mean, is_fine = tf.add_n(gradients) / 2.0, tf.reduce_all(tf.math.is_finite(guard(losses, gradients)))
        mean = tf.where(is_fine, mean, tf.zeros_like(mean)) if is_choice else mean * tf.cast(is_fine, tf.float32)
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(mean, w)], name="train")

    hazards = list(guarded_by_one_tower(WholeGraph(saved(traced(build), trainable_variables=["w"]))))
    assert [hazard.id for hazard in hazards] == ["GUARDED_BY_ONE_TOWER"] * count


@pytest.mark.parametrize("clips", [False, True])
def test_towers_before_all_nodes_are_found_at_once_where_there_are_norms(monkeypatch, clips):
    """Products of gradients are many, and a search from each of them would pass what is before it again."""

    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        halves = tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2)
        scaled = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradient = tf.gradients(tf.reduce_mean(tf.square(halves[tower] @ w)), [w])[0]
                size = tf.linalg.global_norm([gradient]) if clips else tf.reduce_max(gradient)
            scaled.append(gradient / size)
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(scaled) * 0.5, w)], name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    searches, search = [], norms_of_towers._towers_before
    monkeypatch.setattr(norms_of_towers, "_towers_before", lambda *args: searches.append(args) or search(*args))
    monkeypatch.setattr(whole.graph, "ancestors", None)
    assert list(clipped_by_another_tower(whole)) == [] and len(searches) == clips
