"""Gradients that each tower changes before they are averaged: by one norm of rows and others, or by a loss scale."""

import pytest
import tensorflow as tf

from legacy.source.update.tower_changes import ChangedGradients
from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, source_of
from tests.legacy.variants.programs import lifted
from workloads.support.errors import InputError

v1 = tf.compat.v1


def averaged(row):
    """The mean of towers' gradients; of rows all, one after another, divided by the number of towers."""
    if isinstance(row[0], tf.IndexedSlices):
        values = tf.concat([one.values for one in row], 0) / len(row)
        return tf.IndexedSlices(values, tf.concat([one.indices for one in row], 0), row[0].dense_shape)
    return tf.reduce_mean(tf.concat([tf.expand_dims(one, 0) for one in row], 0), 0)


def averaged_as_dense(row):
    return tf.reduce_mean(tf.concat([tf.expand_dims(one, 0) for one in row], 0), 0)


def language_model(combine, change):
    """Two towers with a table of words, each of which changes its gradients by `change(tower, gradients)`."""

    def build():
        v1.set_random_seed(3)
        words = tf.split(v1.placeholder(tf.int32, [8, 3], "words"), 2)
        gradients = []
        for tower, own in enumerate(words):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"), v1.variable_scope("", reuse=tower > 0):
                table = v1.get_variable("table", [7, 4], use_resource=False)
                w = v1.get_variable("w", [4, 2], use_resource=False)
                b = v1.get_variable("b", [2], initializer=v1.zeros_initializer(), use_resource=False)
                x = tf.reduce_sum(tf.nn.embedding_lookup(table, own), 1)
                loss = tf.reduce_sum(tf.square(tf.tanh(tf.matmul(x, w) + b) - 0.5))
                gradients.append(change(tower, tf.gradients(loss, [table, w, b])))
        mean = [combine(row) for row in zip(*gradients)]
        return v1.train.GradientDescentOptimizer(0.125).apply_gradients(zip(mean, [table, w, b]), name="train")

    return build


def clipped(tower, gradients):
    return tf.clip_by_global_norm(gradients, 0.5)[0]


def scaled(tower, gradients):
    with v1.variable_scope("", reuse=v1.AUTO_REUSE):
        scale = v1.get_variable("scale", [], initializer=v1.constant_initializer(3.0), trainable=False)
    return [one / scale for one in map(tf.convert_to_tensor, gradients)]


def averaged_with_a_factor(row):
    """The mean, of which that of the bias is multiplied, as by a learning rate of its own."""
    mean = averaged_as_dense(row)
    return 0.01 * mean if mean.shape.rank == 1 else mean


@pytest.mark.parametrize(
    "combine, change, line, other",
    [
        (averaged_with_a_factor, clipped, "    gradients[name] *= scale\n", "    gradients[name] *= 1.0\n"),
        (averaged_as_dense, clipped, "    gradients[name] *= scale\n", "    gradients[name] *= 1.0\n"),
        (averaged, clipped, "    gradients[name] *= scale\n", "    gradients[name] *= 1.0\n"),
        (averaged_as_dense, scaled, '    gradients[name] /= values["scale"]\n', "    gradients[name] /= 1.0\n"),
    ],
)
def test_each_replica_changes_its_gradients_and_any_number_of_replicas_runs(combine, change, line, other, tmp_path):
    setup = lifted(language_model(combine, change), tmp_path)
    source = source_of(setup, "workload")
    assert line in source.text and "replicas: int" not in source.text
    for replicas in (2, 4):
        assert_port_verified(setup, tmp_path, source, replicas)
    assert_trains_alike(setup, tmp_path)
    without = assert_port_verified(setup, tmp_path, source, replicas=4, changed=lambda text: text.replace(line, other))
    assert not without.passed


def each_in_its_own_way(tower, gradients):
    return tf.clip_by_global_norm(gradients, [0.5, 0.25][tower])[0]


def test_towers_that_change_them_in_different_ways_are_of_that_number(tmp_path):
    setup = lifted(language_model(averaged_as_dense, each_in_its_own_way), tmp_path)
    source = source_of(setup, "workload")
    assert "replicas: int = 2" in source.text
    assert_port_verified(setup, tmp_path, source)
    with pytest.raises(InputError, match="--replicas: got 1, graph is for 2 only"):
        assert_port_verified(setup, tmp_path, source, replicas=1)


def test_rows_that_are_joined_are_told_from_those_that_become_dense():
    assert ChangedGradients([], {}).joined == [] != ChangedGradients(["table"], {}).joined
