"""Dropouts by a fed share in branches of 1.x's `cond`, as of a static RNN that stops with the longest sequence."""

import pytest
import tensorflow as tf

from tests.legacy.source.conditional import with_old_cond
from tests.legacy.source.trained import assert_workload_verified, source_of
from tests.legacy.variants.programs import TOWERS, lifted, towers, weights

v1 = tf.compat.v1


def minimized(least):
    """A layer with a dropout, which is computed where a tower's largest number is `least` or more."""

    @with_old_cond
    def build():
        xs = tf.split(v1.placeholder(tf.float32, [None, 3], name="x"), TOWERS)
        keep = v1.placeholder(tf.float32, [], name="keep_prob")

        def gradient(tower):
            layer = tf.tanh(tf.matmul(xs[tower], weights()))
            dropped = v1.cond(tf.reduce_max(xs[tower]) >= least, lambda: v1.nn.dropout(layer, keep), lambda: layer)
            return tf.gradients(tf.reduce_mean(dropped**2), [weights()])[0]

        return v1.train.MomentumOptimizer(0.5, 0.5).apply_gradients([(tf.add_n(towers(gradient)) / TOWERS, weights())])

    return build


@pytest.mark.parametrize("least", [-99.0, 99.0])
def test_a_dropout_in_a_branch_is_a_plain_choice_whichever_branch_is_taken(tmp_path, least):
    setup = lifted(minimized(least), tmp_path)
    settings = {"keep_prob": "0.75"}
    text = source_of(setup, settings=settings)
    assert "tf.cond(" not in text.text and "tf.where(" in text.text
    assert "old graph's bits" in text.text
    assert_workload_verified(setup, tmp_path, source_of(setup, "workload", settings), settings={"keep_prob": 0.75})
