"""Sources of programs that give every tower the same batch: replicas share out a global batch."""

import pytest
import tensorflow as tf

from tests.legacy.source.trained import assert_workload_verified, source_of
from tests.legacy.variants.programs import BATCH, assert_same, lifted, mean_of, towers, weights

v1 = tf.compat.v1


def program(rows, table=False):
    def build():
        x = v1.placeholder(tf.float32, [rows, 3], name="x")
        scale = v1.placeholder(tf.float32, [7, 3], name="scale") if table else None

        def gradient(_):
            values = tf.tanh(tf.matmul(x, weights())) ** 2
            values = values * tf.reduce_sum(scale) if table else values
            return tf.gradients(tf.reduce_mean(tf.reduce_sum(values, 1)), [weights()])[0]

        return mean_of(towers(gradient))

    return build


@pytest.mark.parametrize("rows", [BATCH, None])
def test_the_batch_that_all_towers_get_is_a_batch_of_examples(rows, tmp_path):
    setup = lifted(program(rows), tmp_path)
    plan = setup.job.workload.plan
    assert [entry.kind for entry in plan.inputs] == ["same batch"] and plan.batch == rows
    assert_same(setup)
    text = source_of(setup, "workload").text
    assert 'batch["x"]' in text and 'batch["x"][0]' not in text and "every tower gets the same data: x" in text
    assert_workload_verified(setup, tmp_path, source_of(setup, "workload"))
    other = assert_workload_verified(
        setup, tmp_path, source_of(setup, "workload"), changed=lambda text: text.replace('batch["x"]', 'batch["x"][:1]')
    )
    assert not other.passed


def test_an_array_of_another_size_beside_it_is_no_batch(tmp_path):
    entries = {entry.name: entry for entry in lifted(program(BATCH, True), tmp_path).job.workload.plan.inputs}
    assert entries["x"].kind == "same batch" and entries["scale"].kind == "same"
