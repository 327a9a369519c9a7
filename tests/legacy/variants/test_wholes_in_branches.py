"""Data of all towers' batch that a loss uses in a branch or a loop, which replicas gather before they enter it.

Replicas may take different branches, and different numbers of turns: none of them could gather anything there.
"""

import pytest
import tensorflow as tf

from tests.legacy.source.conditional import with_old_cond
from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, source_of
from tests.legacy.variants.programs import TOWERS, lifted, towers, weights

v1 = tf.compat.v1


def in_a_branch(losses, own, whole):
    """A factor that is not finite for all numbers, so that its branch alone computes it."""
    factor = lambda: tf.reduce_sum(tf.math.log(whole * whole + 0.5))  # noqa: E731
    return tf.cond(tf.reduce_sum(own) > 2.0, lambda: tf.reduce_sum(losses) * factor(), lambda: tf.reduce_sum(losses))


def in_a_loop(losses, own, whole):
    turns = tf.cast(tf.reduce_sum(own), tf.int32) + 1
    _, last = tf.while_loop(
        lambda turn, state: turn < turns,
        lambda turn, state: (turn + 1, tf.tanh(state) * tf.reduce_mean(whole)),
        [0, losses],
    )
    return tf.reduce_sum(last)


def program(loss):
    def build():
        x, z = v1.placeholder(tf.float32, [None, 3], "x"), v1.placeholder(tf.float32, [None], "z")
        xs, parts = tf.split(x, TOWERS), tf.split(z, TOWERS)

        def gradient(tower):
            losses = tf.reduce_sum(tf.tanh(tf.matmul(xs[tower], weights())) ** 2, 1)
            return tf.gradients(loss(losses * parts[tower], parts[tower], z), [weights()])[0]

        mean = tf.add_n(towers(gradient)) / TOWERS
        return v1.train.MomentumOptimizer(0.125, 0.5).apply_gradients([(mean, weights())])

    return build


@pytest.mark.parametrize("loss, use", [(in_a_branch, "tf.cond("), (in_a_loop, "tf.while_loop(")])
def test_rows_of_all_replicas_are_gathered_before_a_branch_or_a_loop(loss, use, tmp_path):
    setup = lifted(with_old_cond(program(loss)), tmp_path)
    source = source_of(setup, "workload")
    function = source.text.partition("def tower_loss(")[2].partition("\n\n")[0]
    gathered = [line for line in function.splitlines() if "scope.of_all(" in line]
    assert len(gathered) == source.text.count("scope.of_all(") == 1 and use in function
    assert gathered[0].startswith("    ") and " = " in gathered[0] and "lambda" not in gathered[0]
    for replicas in (TOWERS, 4):
        assert_port_verified(setup, tmp_path, source, replicas)
    assert_trains_alike(setup, tmp_path)
    own = lambda text: text.replace('scope.of_all(batch["z"])', 'batch["z"]')  # noqa: E731
    assert not assert_port_verified(setup, tmp_path, source, changed=own).passed
