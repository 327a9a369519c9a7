"""Memories of negative examples: filled by each step, or never."""

import pytest
import tensorflow as tf

from legacy.saved.hazards.memories.idle_queues import queues_that_are_never_filled
from tests.legacy.saved.hazards.minimized import fed, found, variable

v1 = tf.compat.v1


def old_concat(parts, axis):
    """Joins parts as TensorFlow 0.12 does."""
    return tf.raw_ops.Concat(concat_dim=axis, values=parts)


def contrast(fills=False, trained=False, label=0, join=tf.concat):
    """The cross entropy of a similarity among those to the rows of a memory."""

    def loss():
        query, key = (tf.math.l2_normalize(fed(name, 8, 6) @ variable("w_" + name, 6, 4), -1) for name in "qk")
        queue = v1.get_variable("queue", [16, 4], trainable=trained, use_resource=False)
        key = tf.stop_gradient(key)
        logits = join([tf.reduce_sum(query * key, 1, keepdims=True), query @ tf.transpose(queue)], 1) / 0.07
        if fills:
            v1.scatter_update(queue, tf.range(8), key, name="fill")
        labels = tf.fill([8], label)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))

    return loss


@pytest.mark.parametrize(
    "loss, count",
    [
        (contrast(), 1),
        (contrast(join=old_concat), 1),
        (contrast(fills=True, join=old_concat), 0),
        (contrast(fills=True), 0),
        (contrast(trained=True), 0),
        (contrast(label=3), 0),
    ],
)
def test_a_memory_that_no_op_changes_is_named(loss, count):
    assert found(queues_that_are_never_filled, loss) == ["QUEUE_NEVER_FILLED"] * count
