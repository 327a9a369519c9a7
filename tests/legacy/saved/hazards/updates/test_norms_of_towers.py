"""Gradients that are clipped by another tower's norm, beside those clipped by their own or by all towers'."""

import pytest
import tensorflow as tf

from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.hazards.updates.norms_of_towers import clipped_by_another_tower
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
