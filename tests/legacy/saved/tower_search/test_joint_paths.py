"""Paths of one model that take each other's results on several devices, and towers that do so."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.tower_search.joint_paths import PATHS
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def layer(parts, weight):
    made = []
    for device, part in enumerate(parts):
        with tf.device(f"/gpu:{device}"):
            made.append(tf.tanh(tf.matmul(part, weight)))
    return made


def each_with_all(parts):
    """Rows of each path with those of the other one, as of a co-attention."""
    made = []
    for device, part in enumerate(parts):
        with tf.device(f"/gpu:{device}"):
            made.append(part * tf.sigmoid(parts[1 - device]))
    return made


def less_the_mean(parts):
    """Rows of each tower less the mean of all towers' rows."""
    mean = tf.add_n([tf.reduce_mean(part, 0) for part in parts]) / len(parts)
    made = []
    for device, part in enumerate(parts):
        with tf.device(f"/gpu:{device}"):
            made.append(part - mean)
    return made


def row_by_row(parts, device=None):
    with tf.device(device):
        return [tf.reduce_mean(tf.square(tf.reduce_sum(parts[0] * parts[1], 1) - 1.0))]


def columns(parts):
    return [tf.reduce_mean(tf.square(tf.concat(parts, 1)))]


def of_all_rows(parts):
    return [tf.reduce_mean(tf.square(tf.concat(parts, 0)))]


def sum_of_losses(parts):
    return [tf.add_n(each_loss(parts))]


def each_loss(parts):
    made = []
    for device, part in enumerate(parts):
        with tf.device(f"/gpu:{device}"):
            made.append(tf.reduce_mean(tf.square(part)))
    return made


def own_data():
    return [v1.placeholder(tf.float32, [4, 3], name) for name in ("left", "right")]


def places():
    x = v1.placeholder(tf.float32, [4, 2, 3], "x")
    return [x[:, 0], x[:, 1]]


def unstacked():
    return tf.unstack(v1.placeholder(tf.float32, [4, 2, 3], "x"), axis=1)


def parts_of_a_batch():
    return tf.split(v1.placeholder(tf.float32, [8, 3], "x"), 2)


def slices_of_a_batch():
    x = v1.placeholder(tf.float32, [8, 3], "x")
    return [x[:4], x[4:]]


def on_first(parts):
    return row_by_row(parts, "/gpu:0")


def analysed(data, exchange, losses):
    def build():
        weights = [v1.get_variable(name, initializer=[[0.5] * 3] * 3, use_resource=False) for name in ("w", "v")]
        parts = exchange(layer(exchange(layer(data(), weights[0])), weights[1]))
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        found = [optimizer.compute_gradients(one, weights, colocate_gradients_with_ops=True) for one in losses(parts)]
        sums = [tf.add_n([gradient for gradient, _ in pairs]) for pairs in zip(*found)]
        optimizer.apply_gradients(list(zip(sums, weights)), name="train")

    return analyse_graph(saved(traced(build), trainable_variables=["w", "v"]), "m")


@pytest.mark.parametrize("losses", [row_by_row, columns, on_first])
@pytest.mark.parametrize("data", [own_data, places, unstacked])
def test_paths_that_take_each_others_results_and_meet_row_by_row_are_one_tower(data, losses):
    found = analysed(data, each_with_all, losses)
    assert found.plan.towers == 1
    assert found.context.towers.doubt.endswith(PATHS)


@pytest.mark.parametrize(
    "data, exchange, losses",
    [
        (own_data, less_the_mean, of_all_rows),
        (own_data, less_the_mean, sum_of_losses),
        (own_data, less_the_mean, each_loss),
        (parts_of_a_batch, less_the_mean, sum_of_losses),
        (own_data, each_with_all, each_loss),  # each has a loss of its own
        (own_data, each_with_all, sum_of_losses),
        (parts_of_a_batch, each_with_all, row_by_row),  # as where each device has a share of the classes for all rows
        (slices_of_a_batch, each_with_all, columns),
    ],
)
def test_towers_that_take_each_others_results_stay_towers(data, exchange, losses):
    found = analysed(data, exchange, losses)
    assert found.plan.towers == 2 and PATHS not in found.context.towers.doubt
