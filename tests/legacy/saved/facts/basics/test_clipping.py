"""Clipping is read from name scopes, or from its ops, with its bounds."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.clipping import Clippings
from tests.legacy.saved.graphs import traced

v1 = tf.compat.v1
BY_HAND = "by a norm, written by hand"


@pytest.mark.parametrize(
    "clip, text",
    [
        (lambda g: tf.clip_by_value(g, -1.0, 2.0), "by value, at -1 and 2"),
        (lambda g: tf.clip_by_value(g, -1.0, 2.0, name="bounded"), "by value, at -1 and 2"),
        (lambda g: tf.clip_by_norm(g, 3.0), "by norm, at 3"),
        (lambda g: v1.clip_by_average_norm(g, 0.5), "by average norm, at 0.5"),
        (lambda g: tf.clip_by_global_norm([g, 2 * g], 5.0)[0][0], "by global norm, at 5"),
        (lambda g: tf.clip_by_global_norm([g], 5.0)[0][0], "by the norm of each alone (a global norm of one), at 5"),
        (lambda g: tf.clip_by_global_norm([g, g], v1.placeholder(tf.float32, [], "c"))[0][0], "by global norm"),
        (lambda g: tf.maximum(tf.minimum(g, 1.0), -1.0), "by value, written by hand, at -1 and 1"),
        (lambda g: g / tf.maximum(1.0, tf.norm(g) / 4.0), "by a norm, written by hand, at 4"),
        (lambda g: g / tf.maximum(1.0, tf.norm(g) * 0.25), "by a norm, written by hand, at 4"),
        (lambda g: g * tf.minimum(1.0, 4.0 / tf.norm(g)), "by a norm, written by hand, at 4"),
        (lambda g: g * (4.0 / tf.maximum(tf.norm(g), 4.0)), "by a norm, written by hand, at 4"),
        (lambda g: g / tf.norm(g) * tf.minimum(tf.norm(g), 4.0), "by a norm, written by hand, at 4"),
        (lambda g: g * tf.where(tf.norm(g) > 4.0, 4.0 / tf.norm(g), 1.0), "by a norm, written by hand, at 4"),
        (lambda g: tf.where(tf.norm(g) > 4.0, g * 4.0 / tf.norm(g), g), BY_HAND + ", at 4"),
        (lambda g: tf.where(tf.norm(g) > 4.0, tf.zeros_like(g), g), ""),  # left out, not clipped
        (lambda g: g * tf.minimum(1.0, tf.identity(v1.placeholder(tf.float32, [], "c")) / tf.norm(g)), BY_HAND),
        (lambda g: g / tf.maximum(tf.norm(g), 1e-6), ""),  # each has the norm 1
        (lambda g: g / tf.sqrt(tf.maximum(g * g, tf.ones([2]))), ""),  # the larger of two moments, of AMSGrad
        (lambda g: tf.maximum(g, 0.0), ""),
        (lambda g: g * 0.5, ""),
    ],
)
def test_clipping(clip, text):
    graph = traced(lambda: clip(tf.identity(v1.placeholder(tf.float32, [2], "g"), "gradient")))
    assert Clippings(graph).text(graph.descendants(["gradient"])) == text


@pytest.mark.parametrize("bound, text", [(0.0, ""), (2.0, "by norm, at 2")])
def test_a_clipping_in_a_branch_that_constants_rule_out_is_none(bound, text):
    """The other condition, on a step that is fed, is open."""

    def build():
        gradient = tf.identity(v1.placeholder(tf.float32, [2], "g"), "gradient")
        is_last = tf.greater_equal(v1.placeholder(tf.int32, [], "step"), 2)
        clips = tf.logical_and(tf.greater(tf.constant(bound), 0.0), is_last)
        v1.cond(clips, lambda: tf.clip_by_norm(gradient, bound), lambda: gradient)

    v1.disable_control_flow_v2()
    graph = traced(build)
    assert Clippings(graph).text(graph.descendants(["gradient"])) == text


def test_the_gradient_of_a_clipping_that_the_model_computes_is_none():
    def build():
        x = tf.identity(v1.placeholder(tf.float32, [2], "x"), "latents")
        clipped = tf.clip_by_value(x, -50.0, 50.0)
        return v1.gradients(tf.reduce_sum(tf.square(clipped)), [x])[0]

    graph = traced(build)
    backward = [name for name in graph.nodes if name.startswith("gradients/")]
    assert any("clip_by_value" in name for name in backward) and Clippings(graph).text(backward) == ""


@pytest.mark.parametrize("clip", [lambda g: tf.clip_by_value(g, 0, 2), lambda g: tf.maximum(tf.minimum(g, 2), 0)])
def test_indices_are_not_clipped(clip):
    graph = traced(lambda: clip(tf.identity(v1.placeholder(tf.int32, [2], "g"), "indices")))
    assert Clippings(graph).text(graph.descendants(["indices"])) == ""
