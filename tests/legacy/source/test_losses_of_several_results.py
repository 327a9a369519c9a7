"""One loss of several results of each tower, such as the logits of two heads, which are joined over all towers."""

import pytest
import tensorflow as tf

from tests.legacy.source.trained import assert_port_verified, source_of
from tests.legacy.variants.programs import BATCH, TOWERS, lifted, split_batch, towers, weights

v1 = tf.compat.v1


def two_heads():
    """Each tower returns logits and those of an auxiliary head; one loss is made of all towers'."""
    xs = split_batch()
    labels = v1.placeholder(tf.int32, [TOWERS * BATCH], name="y")

    def results(tower):
        hidden = tf.tanh(tf.matmul(xs[tower], weights()))
        with v1.variable_scope("heads", reuse=v1.AUTO_REUSE):
            main, aux = (v1.get_variable(name, [2, 4], use_resource=False) for name in ("main", "aux"))
        return tf.matmul(hidden, main), tf.matmul(hidden**2, aux)

    logits, aux = (tf.concat(parts, 0) for parts in zip(*towers(results)))
    loss, side = (tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, one)) for one in (logits, aux))
    return v1.train.MomentumOptimizer(0.125, 0.5).minimize(loss + 0.375 * side)


def test_each_result_is_differentiated_with_a_factor_of_its_own(tmp_path):
    setup = lifted(two_heads, tmp_path)
    source = source_of(setup, "workload")
    assert "    results = [losses[scope.replica], parts[scope.replica]]\n" in source.text
    assert "    factors = tf.gradients(tower_loss_of_all(losses, parts, part1s), results)\n" in source.text
    assert "    gradients = scope.gradients([loss, part], WEIGHTS, factors)\n" in source.text
    assert_port_verified(setup, tmp_path, source)
    assert "loss, part, part1 = tower_loss(scope, batch)" in source_of(setup).text


@pytest.mark.parametrize(
    "old, new", [("0.375", "0.25"), ("parts = gather", "parts = gather(context, part)[::-1] or gather")]
)
def test_another_share_of_the_second_result_is_seen(old, new, tmp_path):
    setup = lifted(two_heads, tmp_path)
    source = source_of(setup, "workload")
    assert old in source.text
    other = assert_port_verified(setup, tmp_path, source, changed=lambda text: text.replace(old, new, 1))
    assert not other.passed and other.first.stage == "gradients"
