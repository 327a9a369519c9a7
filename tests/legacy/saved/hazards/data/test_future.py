"""Language models that read the words they predict, beside those that read the words before alone."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.data.future import words_read_ahead
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(model, read=slice(0, -1), predicted=slice(1, None), kept=None):
    """The hazards of a model of looked-up words [2, 5, 4] that gives [2, 5, 4]."""

    def build():
        table, w = (
            v1.get_variable("table", [7, 4], use_resource=False),
            v1.get_variable("w", [4, 4], use_resource=False),
        )
        words = v1.placeholder(tf.int32, [2, 6], "words")
        if kept is None:
            states = tf.reshape(model(tf.gather(table, words[:, read]), w), [-1, 4])
        else:
            states = tf.reshape(model(tf.gather(table, words), w)[:, kept], [-1, 4])
        logits = tf.reshape(tf.matmul(states, table, transpose_b=True), [2, 5, 7])
        loss = v1.nn.sparse_softmax_cross_entropy_with_logits(labels=words[:, predicted], logits=logits)
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(loss), name="train")

    v1.disable_control_flow_v2()
    return [
        hazard.id for hazard in words_read_ahead(WholeGraph(saved(traced(build), trainable_variables=["table", "w"])))
    ]


def attention(mask):
    def model(x, w):
        scores = tf.matmul(tf.tensordot(x, w, 1), x, transpose_b=True) / 2.0
        return tf.matmul(tf.nn.softmax(mask(scores)), x)

    return model


def scaled_by_root(mask):
    """Attention as GPT-2 scales it, whose heads are put together by sizes that it takes of shapes."""

    def model(x, w):
        scores = tf.matmul(tf.tensordot(x, w, 1), x, transpose_b=True) * tf.math.rsqrt(tf.cast(4, tf.float32))
        read = tf.matmul(tf.nn.softmax(mask(scores)), x)
        return tf.reshape(tf.reshape(read, [2, -1, 2, 2]), tf.stack([2, tf.shape(read)[1], 4]))

    return model


def causal(scores):
    keep = tf.linalg.band_part(tf.ones([5, 5]), -1, 0)
    return scores * keep - 1e9 * (1.0 - keep)


def loop(x, w):
    states = tf.scan(
        lambda state, now: tf.tanh(now + tf.matmul(state, w)), tf.transpose(x, [1, 0, 2]), tf.zeros([2, 4])
    )
    return tf.transpose(states, [1, 0, 2])


def backward(x, w):
    return tf.reverse(loop(tf.reverse(x, [1]), w), [1])


def causal_of_six(scores):
    keep = tf.linalg.band_part(tf.ones([6, 6]), -1, 0)
    return scores * keep - 1e9 * (1.0 - keep)


def code(x, w):
    """One code of a whole sentence for each time of a decoder."""
    return tf.tile(tf.reduce_mean(attention(lambda scores: scores)(x, w), 1, keepdims=True), [1, 6, 1])


@pytest.mark.parametrize(
    "case, count",
    [
        ({"model": attention(lambda scores: scores), "kept": slice(0, -1)}, 1),
        ({"model": lambda x, w: tf.tanh(attention(lambda scores: scores)(x, w) + x), "kept": slice(None, -1)}, 1),
        ({"model": attention(causal_of_six), "kept": slice(0, -1)}, 0),
        ({"model": scaled_by_root(lambda scores: scores), "kept": slice(0, -1)}, 1),
        ({"model": scaled_by_root(causal_of_six), "kept": slice(0, -1)}, 0),
        ({"model": code, "kept": slice(0, -1)}, 0),
        ({"model": attention(lambda scores: scores), "kept": slice(1, None)}, 0),  # no next words
        ({"model": attention(lambda scores: scores)}, 1),
        ({"model": attention(causal)}, 0),
        ({"model": lambda x, w: loop(x, w) + backward(x, w)}, 1),
        ({"model": loop}, 0),
        ({"model": backward, "read": slice(1, None), "predicted": slice(0, -1)}, 0),  # a backward language model
        ({"model": lambda x, w: loop(x, w) + backward(x, w)[:, :1]}, 1),
        ({"model": lambda x, w: backward(x, w) + v1.random_normal([2, 5, 4])}, 0),
    ],
)
def test_words_that_are_read_ahead_are_named(case, count):
    assert found(**case) == ["WORDS_READ_AHEAD"] * count
