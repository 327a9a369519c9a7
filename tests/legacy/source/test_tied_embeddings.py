"""Embeddings that also give the logits: 1.x adds the rows of all uses one by one, today's gradients add sums."""

import pytest
import tensorflow as tf
from tensorflow.python.eager import backprop_util

from legacy.source.lookups.dense_uses import with_rows_of_dense_uses
from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, assert_workload_verified, source_of
from tests.legacy.variants.programs import BATCH, TOWERS, lifted, towers

v1 = tf.compat.v1
ROWS, WORDS = 5, 6


def as_rows(part):
    if isinstance(part, tf.IndexedSlices):
        return part
    return tf.IndexedSlices(part, tf.range(part.shape[0]), tf.shape(part))


def joined(parts):
    """The sum of the parts of a gradient as 1.x makes it: a dense part beside rows is made the rows of all indices."""
    parts = [as_rows(part) for part in parts if part is not None]
    values, indices = (tf.concat([getattr(part, kind) for part in parts], 0) for kind in ("values", "indices"))
    return tf.IndexedSlices(values, indices, parts[0].dense_shape)


@pytest.fixture
def tied(monkeypatch, tmp_path):
    """The lift of a language model whose embedding gives the logits, too, with the gradients of 1.x."""
    with monkeypatch.context() as patched:
        patched.setattr(backprop_util, "AggregateIndexedSlicesGradients", joined)
        return lifted(language_model(), tmp_path)


def language_model(is_tied=True):
    def build():
        words = tf.split(v1.placeholder(tf.int32, [TOWERS * BATCH, WORDS], name="words"), TOWERS)
        with v1.variable_scope("net"):
            initializer = v1.random_normal_initializer(seed=1)
            table = v1.get_variable("table", [ROWS, 3], initializer=initializer, use_resource=False)
            other = v1.get_variable("other", [ROWS, 3], initializer=initializer, use_resource=False)

        def gradients(tower):
            hidden = tf.tanh(tf.reshape(tf.nn.embedding_lookup(table, words[tower][:, :-1]), [-1, 3]))
            logits = tf.matmul(hidden, table if is_tied else other, transpose_b=True)
            labels = tf.reshape(words[tower][:, 1:], [-1])
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            return [
                tf.convert_to_tensor(one) for one in tf.gradients(tf.reduce_mean(losses), [table, other][: 2 - is_tied])
            ]

        means = [tf.add_n(list(pair)) / TOWERS for pair in zip(*towers(gradients))]
        return v1.train.GradientDescentOptimizer(0.5).apply_gradients(list(zip(means, [table, other])))

    return build


def test_a_table_that_gives_the_logits_too_is_looked_up_whole(tied, tmp_path):
    source = source_of(tied, "workload")
    assert f"tf.nn.embedding_lookup(table, tf.range({ROWS}))" in source.text
    assert "  * net/table: looked up, and used whole as tf.range looks all rows up" in source.text
    assert "have the old graph's bits" in source.text
    assert_workload_verified(tied, tmp_path, source)
    assert_trains_alike(tied, tmp_path)


def test_the_other_order_of_the_rows_is_seen(tied, tmp_path):

    def dense(text):
        return text.replace(f"tf.nn.embedding_lookup(table, tf.range({ROWS}))", "table")

    other = assert_workload_verified(tied, tmp_path, source_of(tied, "workload"), dense)
    assert not other.passed and other.first.stage == "gradients" and other.first.difference.max_rel < 1e-5


def test_tables_with_one_use_and_gradients_of_today_stay_as_they_are(tmp_path):
    for is_tied in (True, False):
        folder = tmp_path / str(is_tied)
        folder.mkdir()
        lift = lifted(language_model(is_tied), folder).job.workload
        assert with_rows_of_dense_uses(lift.plan, lift.graph) == (lift.plan, lift.graph)


def joined_by_the_old_op(parts):
    """The same up to TensorFlow 0.12, whose op takes the axis first."""
    parts = [as_rows(part) for part in parts if part is not None]
    values, indices = (
        tf.raw_ops.Concat(concat_dim=tf.constant(0), values=[getattr(part, kind) for part in parts])
        for kind in ("values", "indices")
    )
    return tf.IndexedSlices(values, indices, parts[0].dense_shape)


def trained_by_rows(rule):
    """A model of one tower whose table gives the logits and is penalized, too, and an optimizer that takes rows."""

    def build():
        words = v1.placeholder(tf.int32, [None, WORDS], name="words")
        initializer = v1.random_normal_initializer(seed=1)
        table = v1.get_variable("net/table", [ROWS, 3], initializer=initializer, use_resource=False)
        hidden = tf.tanh(tf.reshape(tf.nn.embedding_lookup(table, words[:, :-1]), [-1, 3]))
        logits = tf.matmul(hidden, table, transpose_b=True)
        labels = tf.reshape(words[:, 1:], [-1])
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        return rule(0.125).minimize(tf.reduce_mean(losses) + 0.125 * tf.reduce_sum(tf.abs(table)))

    return build


@pytest.mark.parametrize("join", [joined, joined_by_the_old_op])
@pytest.mark.parametrize("rule", [v1.train.GradientDescentOptimizer, v1.train.AdamOptimizer])
def test_a_table_of_which_an_optimizer_takes_rows_is_looked_up_whole(join, rule, monkeypatch, tmp_path):
    with monkeypatch.context() as patched:
        patched.setattr(backprop_util, "AggregateIndexedSlicesGradients", join)
        setup = lifted(trained_by_rows(rule), tmp_path)
    source = source_of(setup, "workload")
    assert "have the old graph's bits" in source.text
    assert source.text.count(f"tf.range({ROWS})") >= 2
    assert_port_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)
