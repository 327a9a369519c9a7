"""Gradients that a program has overridden, on its page and in the reason why a source is refused."""

import tensorflow as tf

from legacy.saved.derivatives.overridden_gradients import overridden_gradients, override_sentences
from tests.legacy.saved.facts.tower_pages import parts, program, sections_of, variable, watched
from workloads.lifted.graph import Graph

v1 = tf.compat.v1


@tf.RegisterGradient("HalvedGradient")
def _halved(op, gradient):
    return gradient * 0.5


def loss_of(x, measured=False):
    """A loss behind a sign; `measured` has the sign in what is measured, and not in the loss."""
    code = tf.matmul(x, variable("w", 3, 2))
    with tf.Graph.gradient_override_map(v1.get_default_graph(), {"Sign": "HalvedGradient"}):
        signs = tf.sign(code)
    return tf.reduce_mean(tf.square((code if measured else signs) - 1.0))


def page(measured=False):
    return sections_of(program(lambda tower: loss_of(parts("x", 8, 3)(tower), measured)))


def test_the_page_names_the_gradient_and_its_ops():
    sentences = [text for text in watched(page()) if "overridden" in text]
    assert len(sentences) == 1
    assert sentences[0].startswith("the gradient of 2 ops Sign is overridden by 'HalvedGradient': ")


def test_an_op_that_no_loss_is_computed_from_is_not_named():
    assert not [text for text in watched(page(measured=True)) if "overridden" in text]


def test_names_that_tensorflow_registers_are_none_of_the_program():
    with tf.Graph().as_default() as graph:
        given = v1.placeholder(tf.float32, [2], name="given")
        with graph.gradient_override_map({"Identity": "CustomGradient-3"}):
            own = tf.identity(given, name="own")
        with graph.gradient_override_map({"Identity": "Identity"}):
            usual = tf.identity(own, name="usual")
        with graph.gradient_override_map({"Identity": "HalvedGradient"}):
            tf.identity(usual, name="halved")
    index = Graph(graph.as_graph_def())
    assert overridden_gradients(index, ["halved"]) == {("Identity", "HalvedGradient"): ["halved"]}
    assert override_sentences(index, ["usual"]) == []
