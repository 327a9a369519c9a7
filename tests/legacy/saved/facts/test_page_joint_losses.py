"""Pages of programs whose towers share one loss: who differentiates it, and whose data they take."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.joint_losses import is_differentiated_by_each
from tests.legacy.saved.facts.tower_pages import (
    analysed_step,
    descend,
    hazards,
    mean,
    only,
    sections_of,
    variable,
    watched,
)

v1 = tf.compat.v1


def one_loss(differentiate, combine=mean):
    """A function that builds two towers' losses; `differentiate(losses, w)` gives a gradient for each tower."""

    def build():
        w, losses = variable("w", 3, 2), []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                x = v1.placeholder(tf.float32, [4, 3], f"x_{tower}")
                losses.append(tf.reduce_mean(tf.square(tf.sigmoid(x @ w))))
        descend([(combine(differentiate(losses, w)), w)])

    return build


def by_each(losses, w):
    total, found = tf.add_n(losses) / 2.0, []
    for tower in range(2):
        with tf.device(f"/gpu:{tower}"):
            found += tf.gradients(total, [w])
    return found


def own(losses, w):
    return [tf.gradients(loss, [w])[0] for loss in losses]


@pytest.mark.parametrize(
    "combine, kind, work",
    [
        (mean, "mean of 2 gradients of the one loss of all towers: its gradient", "2 times the work for one gradient"),
        (
            tf.add_n,
            "sum of 2 gradients of the one loss of all towers: 2 times its gradient",
            "their sum is 2 times it",
        ),
    ],
)
def test_one_loss_that_each_tower_differentiates(combine, kind, work):
    page = sections_of(one_loss(by_each, combine))
    assert only(page["combining"])["are"] == kind
    assert "train: each of the 2 towers differentiates the one loss of all of them" in watched(page)
    hazard = only(page["hazards"])
    assert hazard["hazard"] == "LOSS_DIFFERENTIATED_BY_EACH" and hazard["what"].endswith(work)


def test_what_a_tower_differentiates_of_another_ones_results_is_no_use_of_its_data():
    def gated(losses, w):
        found, optimizer = [], v1.train.GradientDescentOptimizer(0.5)
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"):
                found.append(optimizer.compute_gradients(tf.add_n(losses), [w])[0][0])
        return found

    page = sections_of(one_loss(gated))
    assert {row["name"]: row["kind"] for row in page["inputs"]} == {
        "tower_0/x_0": "tower 0's alone",
        "tower_1/x_1": "tower 1's alone",
    }
    assert not [text for text in watched(page) if "same data" in text]


def test_losses_of_each_towers_own_are_not_said_to_be_one():
    page = sections_of(one_loss(own))
    assert only(page["combining"])["are"] == "mean" and hazards(page) == []
    step = analysed_step(one_loss(own))
    assert not is_differentiated_by_each(step.graph, 2, step.phases[0])


def test_one_differentiation_of_one_loss_is_none_by_each():
    def build():
        w, losses = variable("w", 3, 2), []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                losses.append(tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [4, 3], "x") @ w)))
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.add_n(losses) / 2.0, name="train")

    page = sections_of(build)
    assert "LOSS_DIFFERENTIATED_BY_EACH" not in hazards(page)
