"""Small programs of two towers, for tests of the analysis and of the report."""

from __future__ import annotations

import tensorflow as tf

from legacy.saved.graph.graph_file import SavedGraph
from tests.legacy.saved.graphs import saved, traced
from workloads.lifted.graph import Graph

v1 = tf.compat.v1
TOWERS = 2


def two_towers() -> Graph:
    """Returns the graph of two towers with one weight, trained by the mean of their gradients.

    Each tower computes sum((x + noise) * w) of its placeholder x0 or x1 with four rows; the first one also moves the
    statistic `seen` to its sum. There is an average of the weight, which races with its update.
    """

    def build() -> None:
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        seen = v1.get_variable("seen", initializer=0.0, use_resource=False, trainable=False)
        rate = tf.constant(0.5, name="rate")
        xs = [v1.placeholder(tf.float32, [4, 2], f"x{tower}") for tower in range(TOWERS)]
        gradients, losses = [], []
        for tower, x in enumerate(xs):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"):
                noise = v1.random_uniform([4, 2], name="noise", seed=tower)
                losses.append(tf.reduce_sum(tf.multiply(x + noise, w, name="product"), name="sum"))
                gradients.append(tf.gradients(losses[tower], [w])[0])
        mean = tf.divide(tf.add_n(gradients, "total"), float(TOWERS), name="mean")
        update = v1.train.GradientDescentOptimizer(rate).apply_gradients([(mean, w)])
        average = v1.train.ExponentialMovingAverage(0.5).apply([w])
        moved = v1.assign(seen, losses[0], name="move")
        tf.group(update, average, moved, name="train")

    return traced(build)


def saved_two_towers() -> SavedGraph:
    """Returns `two_towers` as if it had been read from a file."""
    return saved(two_towers(), trainable_variables=["w"])


def saved_penalty_beside_towers(is_added_later: bool) -> SavedGraph:
    """Two towers' gradients, averaged, and that of a penalty, which is made and differentiated on the first GPU.

    Args:
      is_added_later: whether the penalty's gradient is added to the mean, and else to the first tower's gradient.
    """

    def build() -> None:
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        halves = tf.split(v1.placeholder(tf.float32, [4, 2], "x"), 2)
        gradients = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients += tf.gradients(tf.reduce_mean(tf.square(halves[tower] * w), name="data"), [w])
        with tf.device("/gpu:0"), tf.name_scope("tower_0/"):
            (penalty,) = tf.gradients(tf.nn.l2_loss(w, name="l2"), [w])
            first = gradients[0] if is_added_later else gradients[0] + penalty
        mean = tf.reduce_mean(tf.stack([first, gradients[1]]), 0)
        total = mean + penalty if is_added_later else mean
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(total, w)], name="train")

    return saved(traced(build), trainable_variables=["w"])
