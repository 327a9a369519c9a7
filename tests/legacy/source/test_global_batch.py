"""The global batch of a source: the old program's own where its graph tells, although its inputs take any number."""

import pytest
import tensorflow as tf

from legacy.source.styles.workload_style import name_and_size_lines
from tests.legacy.source.trained import source_of
from tests.legacy.variants.programs import TOWERS, lifted, towers, weights

v1 = tf.compat.v1


def averaged(parts):
    """A train op on the mean of the towers' gradients of squares of their parts of `parts()`."""
    xs = parts()
    gradients = towers(lambda tower: tf.gradients(tf.reduce_sum(tf.matmul(xs[tower], weights()) ** 2), [weights()])[0])
    return v1.train.GradientDescentOptimizer(0.25).apply_gradients([(tf.add_n(gradients) / TOWERS, weights())])


def slices():
    x = v1.placeholder(tf.float32, [None, 3])
    return [x[:12], x[12:24]]


def parts_of_dataset():
    dataset = tf.data.Dataset.from_tensor_slices(tf.ones([96, 3])).batch(24).repeat()
    return tf.split(v1.data.make_one_shot_iterator(dataset).get_next(), TOWERS)


def open_parts():
    return tf.split(v1.placeholder(tf.float32, [None, 3]), TOWERS)


def fixed_parts():
    return tf.split(v1.placeholder(tf.float32, [10, 3]), TOWERS)


@pytest.mark.parametrize(
    "parts, workload, standalone",
    [
        (slices, "24", "24, 2  # examples of all replicas together; replicas"),
        (parts_of_dataset, "24", "24, 2  # examples of all replicas together; replicas"),
        (fixed_parts, "10", "10, 2  # examples of all replicas together; replicas"),
        (
            open_parts,
            "16  # the old graph takes any number",
            "16, 2  # examples of all replicas, any number fits; replicas",
        ),
    ],
)
def test_the_global_batch_is_the_old_programs(parts, workload, standalone, tmp_path):
    setup = lifted(lambda: averaged(parts), tmp_path)
    assert name_and_size_lines(setup.job.workload.plan)[1] == f"    global_batch: int = {workload}"
    assert f"    global_batch: int = {workload}\n" in source_of(setup, "workload").text
    assert f"GLOBAL_BATCH, TOWERS = {standalone}" in source_of(setup).text
