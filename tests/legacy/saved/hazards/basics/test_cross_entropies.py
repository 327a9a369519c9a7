import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.elements import source_of_elements
from tests.legacy.saved.hazards.minimized import fed, minimizing, variable

v1 = tf.compat.v1


def entropies(loss):
    """[(logits' op, labels' op, whether it is a product)] of the cross entropies in a loss of a layer's output."""

    def of_layer():
        return loss(fed("x", 4, 2) @ variable("w", 2, 3), fed("y", 4, 3))

    whole = WholeGraph(minimizing(of_layer))
    graph = whole.graph
    return [
        (*(graph.type(source_of_elements(graph, tensor).node) for tensor in (one.logits, one.labels)), one.is_product)
        for one in cross_entropies(whole)
    ]


def of_op(logits, labels):
    return tf.reduce_mean(v1.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def with_guard(logits, labels):
    return tf.reduce_mean(-tf.reduce_sum(labels * tf.math.log(tf.nn.softmax(logits) + 1e-8), 1))


def clipped(logits, labels):
    return -tf.reduce_sum(tf.math.log(tf.clip_by_value(tf.nn.softmax(logits), 1e-10, 1.0)) * labels)


def with_sign_inside(logits, labels):
    return tf.reduce_mean(tf.reduce_sum(-labels * tf.nn.log_softmax(logits), 1))


@pytest.mark.parametrize(
    "loss, is_product", [(of_op, False), (with_guard, True), (clipped, True), (with_sign_inside, True)]
)
def test_labels_and_logits_of_an_op_and_of_a_written_product(loss, is_product):
    assert entropies(loss) == [("MatMul", "Placeholder", is_product)]


def own_entropy(logits, labels):
    shares = tf.nn.softmax(logits)
    return tf.reduce_mean(labels) + tf.reduce_sum(shares * tf.math.log(shares + 1e-8))


def halved(logits, labels):
    return tf.reduce_sum(labels) - tf.reduce_sum(0.5 * tf.nn.log_softmax(logits))


@pytest.mark.parametrize("loss", [own_entropy, halved])
def test_an_entropy_and_a_constant_share_have_no_labels(loss):
    assert entropies(loss) == []
