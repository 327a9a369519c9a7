"""Steps of their own, of which each tower's loss is a part of a mean: divided by as many replicas as there are."""

import pytest
import tensorflow as tf

from tests.legacy.saved.facts.tower_pages import parts, variable
from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, source_of
from tests.legacy.variants.programs import lifted

v1 = tf.compat.v1


def towers_with(part, is_one_loss=False):
    """Returns a function that makes two towers, whose losses `part` makes of those of their examples.

    No workload's optimizer is FTRL. The towers' gradients are added, or those of one loss, half the sum of all.
    """

    def build():
        x, losses = parts("x", 8, 3), []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"):
                losses.append(part(tf.reduce_sum(tf.exp(tf.tanh(tf.matmul(x(tower), variable("w", 3, 2)))), 1)))
        w, rule = v1.trainable_variables(), v1.train.FtrlOptimizer(0.125)
        if is_one_loss:
            return rule.minimize(tf.add_n(losses) / 2.0, var_list=w, name="train")
        gradients = [tf.gradients(loss, w)[0] for loss in losses]
        return rule.apply_gradients([(tf.add_n(gradients), w[0])], name="train")

    return build


@pytest.mark.parametrize(
    "program, text",
    [
        (towers_with(lambda losses: tf.reduce_sum(losses) / 8.0), "/ (scope.replicas * batch_size)"),
        (towers_with(lambda losses: tf.reduce_mean(losses) / 2.0), "/ scope.replicas"),
        (towers_with(tf.reduce_mean, is_one_loss=True), "seed = tf.constant(1.0 / scope.replicas)"),
    ],
)
def test_the_divisor_follows_the_replicas(program, text, tmp_path):
    setup = lifted(program, tmp_path)
    source = source_of(setup, "workload")
    assert text in source.text and "replicas: int" not in source.text
    for replicas in (2, 4):
        assert_port_verified(setup, tmp_path, source, replicas)
    assert_trains_alike(setup, tmp_path)
    fixed = lambda text: text.replace("scope.replicas", "2.0")  # noqa: E731
    assert not assert_port_verified(setup, tmp_path, source, replicas=4, changed=fixed).passed


def test_a_factor_that_the_text_cannot_follow_is_for_the_old_number(tmp_path):
    setup = lifted(towers_with(lambda losses: tf.reduce_mean(losses) * 0.5), tmp_path)
    source = source_of(setup, "workload")
    assert "replicas: int = 2" in source.text and "scope.replicas" not in source.text
    assert_port_verified(setup, tmp_path, source)


def test_a_sum_of_undivided_losses_stays_one(tmp_path):
    setup = lifted(towers_with(tf.reduce_mean), tmp_path)
    source = source_of(setup, "workload")
    assert "scope.replicas" not in source.text and "replicas: int" not in source.text
    assert_port_verified(setup, tmp_path, source, 4)
