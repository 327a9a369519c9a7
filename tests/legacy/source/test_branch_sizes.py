"""Losses with branches of different sizes, as those of the hardest examples, written with their training steps."""

import tensorflow as tf

from tests.legacy.source.conditional import with_old_cond
from tests.legacy.source.trained import assert_trains_alike, assert_workload_verified, source_of
from tests.legacy.variants.programs import TOWERS, lifted, split_batch, towers, weights

v1 = tf.compat.v1


def of_each_example(x):
    return tf.reduce_sum(tf.tanh(tf.matmul(x, weights())) ** 2, 1)


def hardest(losses, least=2):
    """The mean of the losses above a threshold, if there are enough, or else of the largest ones."""
    ordered, _ = tf.nn.top_k(losses, tf.size(losses))
    enough = tf.greater(ordered[least], 0.25)
    above = lambda: tf.gather(ordered, tf.squeeze(tf.where(tf.greater(ordered, 0.25)), 1))  # noqa: E731
    return tf.reduce_mean(v1.cond(enough, above, lambda: ordered[:least]))


def weighted_if_large(losses):
    """Losses of one number each, on either side of a choice of their own."""
    return tf.reduce_mean(v1.cond(tf.reduce_max(losses) > 0.5, lambda: losses * 2.0, lambda: losses + 1.0))


def minimized(loss):
    @with_old_cond
    def build():
        xs = split_batch()
        gradients = towers(lambda tower: tf.gradients(loss(of_each_example(xs[tower])), [weights()])[0])
        return v1.train.MomentumOptimizer(0.5, 0.5).apply_gradients([(tf.add_n(gradients) / TOWERS, weights())])

    return build


def test_the_branch_of_the_hardest_examples_is_computed_where_it_is_taken(tmp_path):
    setup = lifted(minimized(hardest), tmp_path)
    text = source_of(setup)
    assert "tf.cond(" in text.text
    assert "tf.where(tf.squeeze" not in text.text
    assert_trains_alike(setup, tmp_path, text)
    assert_workload_verified(setup, tmp_path, source_of(setup, "workload"))


def test_branches_of_one_size_are_a_plain_choice(tmp_path):
    setup = lifted(minimized(weighted_if_large), tmp_path)
    text = source_of(setup)
    assert "tf.cond(" not in text.text
    assert_trains_alike(setup, tmp_path, text)


def test_another_threshold_is_seen(tmp_path):
    setup = lifted(minimized(hardest), tmp_path)
    source = source_of(setup, "workload")
    other = assert_workload_verified(setup, tmp_path, source, changed=lambda text: text.replace("0.25", "0.0625"))
    assert not other.passed
