"""A table whose row of the padding each tower sets to zeros before it looks words up."""

import pytest
import tensorflow as tf

from legacy.source.lookups.rows_set_before import with_rows_set_before
from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, source_of
from tests.legacy.variants.programs import BATCH, TOWERS, lifted, towers

v1 = tf.compat.v1
ROWS, WORDS = 5, 4


def table(by_handle):
    with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
        initializer = v1.random_normal_initializer(seed=1)
        return v1.get_variable("table", [ROWS, 3], initializer=initializer, use_resource=by_handle)


def zeros():
    return tf.zeros([1, 3])


def padded_model(by_handle=False, rows=zeros, decay=0.0, dense=False):
    def build():
        words = tf.split(v1.placeholder(tf.int32, [TOWERS * BATCH, WORDS], name="words"), TOWERS)

        def gradient(tower):
            weight = table(by_handle)
            penalty = decay * tf.nn.l2_loss(weight) if decay else 0.0
            with tf.control_dependencies([penalty] if decay else []):
                setting = v1.scatter_update(weight, tf.constant([0]), rows())
            with tf.control_dependencies([setting]):
                found = tf.nn.embedding_lookup(weight, words[tower])
            loss = tf.reduce_mean((tf.reduce_sum(found, 1) - 1.0) ** 2) + penalty
            (found,) = tf.gradients(loss, [weight])
            return tf.convert_to_tensor(found) if dense else found

        gradients = towers(gradient)
        if dense:
            mean = tf.add_n(gradients) / TOWERS
        else:
            values = tf.concat([one.values for one in gradients], 0) / TOWERS
            mean = tf.IndexedSlices(values, tf.concat([one.indices for one in gradients], 0), tf.constant([ROWS, 3]))
        return v1.train.AdagradOptimizer(0.5).apply_gradients([(mean, table(by_handle))])

    return build


@pytest.mark.parametrize("changes", [{}, {"dense": True}, {"by_handle": True}, {"rows": lambda: tf.ones([1, 3])}])
def test_the_train_op_sets_the_rows_first(changes, tmp_path):
    setup = lifted(padded_model(**changes), tmp_path)
    source = source_of(setup, "workload")
    body = source.text[source.text.index("def train_step(") :]
    assert body.index("ResourceScatterUpdate") < body.index("loss = tower_loss(scope, batch)")
    assert 'values["net/table"] = variables["net/table"].read_value()' in body
    assert_port_verified(setup, tmp_path, source)
    assert_port_verified(setup, tmp_path, source, replicas=3)
    assert_trains_alike(setup, tmp_path)


def test_rows_that_are_not_set_are_seen(tmp_path):
    setup = lifted(padded_model(), tmp_path)

    def without(text):
        return text.replace("indices=tf.constant([0], tf.int32)", "indices=tf.constant([1], tf.int32)")

    assert not assert_port_verified(setup, tmp_path, source_of(setup, "workload"), changed=without).passed


def test_a_loss_that_reads_the_weight_before_too_is_not_written_so(tmp_path):
    lift = lifted(padded_model(decay=0.5, dense=True), tmp_path).job.workload
    assert with_rows_set_before(lift.plan, lift.graph) is lift.graph
