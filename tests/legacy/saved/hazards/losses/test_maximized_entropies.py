"""Cross entropies that a loss contains with a negative sign, by mistake and by intention."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.losses.maximized_entropies import maximized_entropies
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards.minimized import fed, found, variable

v1 = tf.compat.v1


def sparse(logits):
    labels = fed("labels", 8, dtype=tf.int32)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def dense(logits):
    return tf.reduce_mean(v1.nn.softmax_cross_entropy_with_logits(labels=fed("labels", 8, 3), logits=logits))


def of_sigmoids(logits):
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=fed("labels", 8, 3), logits=logits))


def own(logits):
    return tf.reduce_mean(v1.nn.softmax_cross_entropy_with_logits(labels=tf.nn.softmax(logits), logits=logits))


@pytest.mark.parametrize("entropy", [sparse, dense, of_sigmoids])
@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda entropy, logits: -entropy(logits), 1),
        (lambda entropy, logits: tf.reduce_mean(tf.square(logits)) - 0.5 * entropy(logits), 1),
        (lambda entropy, logits: entropy(logits), 0),
        (lambda entropy, logits: tf.negative(-entropy(logits)), 0),
        (lambda entropy, logits: entropy(logits) - 0.1 * entropy(tf.tanh(logits)), 0),
        (lambda entropy, logits: -entropy(logits) * tf.reduce_mean(fed("rewards", 8)), 0),
        (lambda entropy, logits: tf.reduce_mean(tf.square(logits)) - entropy(tf.stop_gradient(logits)), 0),
    ],
)
def test_a_cross_entropy_with_a_negative_sign_is_named(entropy, loss, count):
    hazards = found(maximized_entropies, lambda: loss(entropy, fed("x", 8, 4) @ variable("w", 4, 3)))
    assert hazards == ["LIKELIHOOD_MINIMIZED"] * count


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda label, domain: sparse(label) - 0.1 * sparse(domain), 1),
        (lambda label, domain: sparse(label) + 0.1 * sparse(domain), 0),
        (lambda label, domain: sparse(label) + sparse(domain) - 0.1 * sparse(tf.tanh(domain)), 0),
    ],
)
def test_a_layer_of_its_own_that_learns_to_be_wrong_is_named(loss, count):
    def build():
        features = tf.tanh(fed("x", 8, 4) @ variable("f", 4, 4))
        return loss(features @ variable("labels", 4, 3), features @ variable("domains", 4, 3))

    assert found(maximized_entropies, build) == ["LIKELIHOOD_MINIMIZED"] * count


def test_an_entropy_is_not():
    def loss():
        logits = fed("x", 8, 4) @ variable("w", 4, 3)
        return tf.reduce_mean(tf.square(logits)) - 0.1 * own(logits)

    assert found(maximized_entropies, loss) == []


@pytest.mark.parametrize("trained, count", [(["f"], 0), (["f", "d"], 1)])
def test_features_that_should_not_tell_domains_apart_are_trained_without_the_domains_layer(trained, count):
    def build():
        layers = {"f": variable("f", 4, 4), "d": variable("d", 4, 3)}
        loss = -sparse(tf.tanh(fed("x", 8, 4) @ layers["f"]) @ layers["d"])
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        optimizer.minimize(loss, var_list=[layers[name] for name in trained], name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["f", "d"]))
    assert [hazard.id for hazard in maximized_entropies(whole)] == ["LIKELIHOOD_MINIMIZED"] * count
