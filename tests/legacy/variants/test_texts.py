"""Towers that read texts, as columns of features do: the lift takes the numbers that are made of them."""

import tensorflow as tf

from tests.legacy.source.trained import assert_port_verified, source_of
from tests.legacy.variants.programs import BATCH, TOWERS, assert_same, lifted, towers, weights

v1 = tf.compat.v1


def text_columns():
    """Embeddings of one word each, without the empty ones, as `tf.feature_column.input_layer` makes them."""
    words = tf.split(v1.placeholder(tf.string, [TOWERS * BATCH], name="words"), TOWERS)
    ages = tf.split(v1.placeholder(tf.string, [TOWERS * BATCH], name="ages"), TOWERS)

    def loss(tower):
        column = tf.expand_dims(words[tower], -1)
        places = tf.where(tf.not_equal(column, ""))
        bucket = tf.strings.to_hash_bucket_fast(tf.gather_nd(column, places), 6)
        with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
            initializer = v1.random_normal_initializer(seed=1)
            table = v1.get_variable("table", [6, 3], initializer=initializer, use_resource=False)
        rows = tf.scatter_nd(places[:, :1], tf.nn.embedding_lookup(table, bucket), tf.cast([BATCH, 3], tf.int64))
        ages_read = tf.expand_dims(tf.strings.to_number(ages[tower]), -1)
        return tf.reduce_mean((tf.matmul(rows, weights()) - ages_read) ** 2)

    mean = tf.add_n(towers(loss)) / TOWERS
    return v1.train.AdagradOptimizer(0.5).minimize(mean)


def test_texts_are_inputs_as_the_numbers_that_are_made_of_them(tmp_path):
    setup = lifted(text_columns, tmp_path)
    plan = setup.job.workload.plan
    assert sorted(entry.dtype for entry in plan.inputs) == ["bool", "float32", "int64"]
    assert_same(setup)
    assert_port_verified(setup, tmp_path, source_of(setup, "workload"))
