"""A target network follows the trained one in a loop over the trained weights."""

import pytest
import tensorflow as tf

from legacy.source.update.changes.partners import of_listed_partners, partner_text
from legacy.source.update.changes.weight_loops import of_name
from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, source_of
from tests.legacy.variants.programs import lifted, split_batch, towers

v1 = tf.compat.v1
GROUPS = {"WEIGHTS": ["q/w", "q/b"]}


def network(x, folder, trainable):
    with v1.variable_scope(folder, reuse=v1.AUTO_REUSE):
        w = v1.get_variable("w", [3, 2], initializer=v1.glorot_uniform_initializer(seed=1), trainable=trainable)
        b = v1.get_variable("b", [2], initializer=v1.zeros_initializer(), trainable=trainable)
        return tf.tanh(tf.matmul(x, w) + b)


def of_a_target(shares):
    """A program whose target network takes a share of the trained one's weights in each step, one for each name."""

    def build():
        xs = split_batch()

        def gradients(tower):
            wanted = tf.stop_gradient(network(xs[tower] * 0.5, "target", False))
            loss = tf.reduce_mean(tf.square(network(xs[tower], "q", True) - wanted))
            return tf.gradients(loss, v1.trainable_variables())

        means = [tf.add_n(own) / 2 for own in zip(*towers(gradients))]
        update = v1.train.GradientDescentOptimizer(0.1).apply_gradients(zip(means, v1.trainable_variables()))
        with tf.control_dependencies([update]):
            moved = []
            for name, share in shares.items():
                new, old = (v for v in v1.global_variables() if v.op.name in (f"q/{name}", f"target/{name}"))
                new, old = (new, old) if new.op.name.startswith("q/") else (old, new)
                moved.append(old.assign((1 - share) * old + share * new))
            return tf.group(*moved)

    return build


def test_a_target_network_follows_in_a_loop(tmp_path):
    setup = lifted(of_a_target({"w": 0.25, "b": 0.25}), tmp_path)
    source = source_of(setup, "workload")
    assert 'variables[name.replace("q/", "target/", 1)].assign(' in source.text
    assert '["target/' not in source.text
    assert_port_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)


def test_targets_that_follow_at_other_rates_stay_by_themselves(tmp_path):
    source = source_of(lifted(of_a_target({"w": 0.25, "b": 0.5}), tmp_path), "workload")
    assert "name.replace(" not in source.text and 'variables["target/b"].assign(' in source.text


def test_a_partner_shares_the_ending_of_a_name():
    assert of_name('v["t/w"].assign(v["q/w"])', "t/w") == 'v[name].assign(v[name.replace("t/", "q/", 1)])'
    assert of_name('v["t/w"].assign(v["b"])', "t/w") == 'v[name].assign(v["b"])'
    assert partner_text("a/b/w", "a/b/w2") == partner_text("w", "q/w") == ""


@pytest.mark.parametrize("line", ["f(name)", 'v[name + "/Adam"]', 'v[name.replace("t/", "r/", 1)]'])
def test_other_uses_of_the_name_keep_the_loop_over_the_owners(line):
    lines = ['v[name.replace("t/", "q/", 1)]', line]
    assert of_listed_partners(lines, ("t/w", "t/b"), GROUPS) == (lines, ("t/w", "t/b"))
    assert of_listed_partners(lines[:1], ("t/w",), GROUPS) == (lines[:1], ("t/w",))
