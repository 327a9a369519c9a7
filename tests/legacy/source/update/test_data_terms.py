"""One optimizer that minimizes the sum of all towers' losses, each of which contains penalties on the weights."""

import pytest
import tensorflow as tf

from legacy.source.update.data_terms import terms_of_data, with_data_terms
from tests.legacy.saved.graphs import traced
from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, source_of
from tests.legacy.variants.programs import TOWERS, lifted, split_batch, towers, weights
from workloads.lifted.graph import parse_tensor_name

v1 = tf.compat.v1


def weight(name, shape):
    with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
        return v1.get_variable(name, shape, initializer=v1.glorot_uniform_initializer(seed=2), use_resource=False)


def data_loss(x):
    hidden = tf.tanh(tf.matmul(x, weights()) + weight("bias", [2]))
    return tf.reduce_mean(tf.matmul(hidden, weight("out", [2, 1])) ** 2)


def penalty():
    return 0.25 * tf.add_n([tf.nn.l2_loss(weights()), tf.nn.l2_loss(weight("out", [2, 1]))])


def together(loss, optimizer=None):
    """A program that minimizes the mean of what `loss(x)` gives for each tower's data."""

    def build():
        xs = split_batch()
        losses = towers(lambda tower: loss(xs[tower]))
        return (optimizer or v1.train.MomentumOptimizer(0.125, 0.5)).minimize(tf.add_n(losses) / TOWERS)

    return build


def penalized(x):
    return data_loss(x) + penalty()


def scaled(x):
    return 0.5 * (2.0 * data_loss(x) + 0.5 * penalty())


def with_auxiliary(x):
    return tf.add_n([data_loss(x), penalty(), 0.5 * tf.reduce_mean(tf.matmul(x, weight("side", [3, 1])) ** 2)])


@pytest.mark.parametrize(
    "loss, minimized, seed",
    [(penalized, "data_loss", "0.5"), (scaled, "data_loss", "0.25"), (with_auxiliary, "[loss2, loss3]", "0.5")],
)
def test_penalties_are_added_by_the_update(loss, minimized, seed, tmp_path):
    setup = lifted(together(loss), tmp_path)
    source = source_of(setup, "workload")
    assert "have the old graph's bits" in source.text
    assert f"seed = tf.constant({seed})\n" in source.text
    assert f"gradients = scope.gradients({minimized}, WEIGHTS, " in source.text
    assert_port_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)


def test_the_updates_of_weights_with_and_without_a_penalty_are_one_loop(tmp_path):
    source = source_of(lifted(together(penalized), tmp_path), "workload")
    assert source.text.count("tf.raw_ops.ResourceApplyMomentum(") == 1
    assert 'combined["net/bias"] = tf.add_n(gradients["net/bias"])\n' in source.text


def on_the_first_device():
    """The losses and a penalty are added up on the first GPU, where the penalty's gradient is added to its tower's."""
    xs = split_batch()
    losses = towers(lambda tower: data_loss(xs[tower]))
    with tf.device("/gpu:0"):
        total = tf.add_n(losses) / TOWERS + penalty()
    optimizer = v1.train.MomentumOptimizer(0.125, 0.5)
    return optimizer.minimize(total, colocate_gradients_with_ops=True)


def test_a_penalty_that_the_first_tower_adds_to_its_gradient_is_added_by_the_update(tmp_path):
    setup = lifted(on_the_first_device, tmp_path)
    assert not setup.job.workload.plan.notes  # no tower's loss contains what another one computes
    source = source_of(setup, "workload")
    assert "have the old graph's bits" in source.text
    assert_port_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)


def test_a_loss_with_its_penalty_differentiated_is_seen(tmp_path):
    setup = lifted(together(penalized), tmp_path)
    source = source_of(setup, "workload")
    wrong = assert_port_verified(
        setup, tmp_path, source, changed=lambda text: text.replace("gradients(data_loss,", "gradients(loss,")
    )
    assert not wrong.passed and wrong.first.stage == "gradients"


def test_losses_without_penalties_are_left_as_they_are(tmp_path):
    lift = lifted(together(data_loss), tmp_path).job.workload
    assert with_data_terms(lift.plan, lift.graph) == lift.plan


def test_terms_of_a_loss_that_depend_on_data():
    def build():
        data, other = v1.placeholder(tf.float32, [], "data"), v1.placeholder(tf.float32, [], "other")
        decay = tf.multiply(tf.constant(0.25), v1.placeholder(tf.float32, [], "weight"))
        tf.identity((data + other) + decay, "kept_sum")
        tf.multiply(tf.add_n([data, decay, other]) / 4.0, 0.5, name="scaled")
        tf.identity(data * other, "alone")
        tf.multiply(data + decay, other, name="varying")

    graph = traced(build)
    behind = {"data", "other", *(node for node in graph.nodes if {"data", "other"} & graph.ancestors([node]))}

    def terms(name):
        found = terms_of_data(graph, parse_tensor_name(name + ":0"), behind)
        return [(graph.type(term.tensor.node), term.factor) for term in found]

    assert terms("kept_sum") == [("AddV2", 1.0)]
    assert terms("scaled") == [("Placeholder", 0.125), ("Placeholder", 0.125)]
    assert terms("alone") == [("Identity", 1.0)]
    assert terms("varying") == [("Mul", 1.0)]
    assert terms("weight") == []
