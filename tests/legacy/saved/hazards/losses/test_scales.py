"""Loss scales that gradients keep, that miss penalties, or that clipping sees, beside clean twins."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.losses.divided_sums import sums_divided_by_another_count
from legacy.saved.hazards.losses.scales import clipped_while_scaled, scaled_losses
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def program(scale=128.0, divisor=128.0, penalty_scaled=True, clip=None, dtype=tf.float16, shown="", listed=(0, 1)):
    """A program of two towers and its analysis; `clip` is "before" or "after" the division by `divisor`.

    Its summary shows the loss "without" the scale, or "with" it; `listed` are the towers whose gradients are averaged.
    """

    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        halves = tf.split(v1.placeholder(tf.float32, [4, 4], "x"), 2)
        gradients, losses = [], {"with": [], "without": []}
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                product = tf.cast(tf.cast(halves[tower], dtype) @ tf.cast(w, dtype), tf.float32)
                loss, penalty = tf.reduce_mean(tf.square(product)), 0.1 * tf.nn.l2_loss(w)
                losses["without"].append(loss + penalty)
                loss = losses["without"][-1] * scale if penalty_scaled else loss * scale + penalty
                losses["with"].append(loss)
                gradients.append(tf.gradients(loss, [w])[0])
        if shown:
            v1.summary.scalar("loss", tf.add_n(losses[shown]) / 2.0)
        mean = tf.add_n([gradients[tower] for tower in listed]) / float(len(listed))
        mean = tf.clip_by_global_norm([mean], 1.0)[0][0] if clip == "before" else mean
        mean = mean / divisor
        mean = tf.clip_by_global_norm([mean], 1.0)[0][0] if clip == "after" else mean
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(mean, w)], name="train")

    whole = saved(traced(build), trainable_variables=["w"])
    found = analyse_graph(whole, "made-for-a-test")
    return WholeGraph(whole, found), found


@pytest.mark.parametrize(
    "settings, ids",
    [
        ({}, []),
        ({"divisor": 1.0}, ["LOSS_SCALE_KEPT"]),
        ({"divisor": 1.0, "dtype": tf.float32}, []),  # a weight
        ({"divisor": 1.0, "dtype": tf.float32, "shown": "with"}, []),
        ({"divisor": 1.0, "dtype": tf.float32, "shown": "without"}, ["LOSS_SCALE_KEPT"]),
        ({"divisor": 1.0, "dtype": tf.float32, "shown": "without", "listed": (0, 0, 1)}, ["LOSS_SCALE_KEPT"]),
        ({"dtype": tf.float32, "shown": "without", "listed": (0, 0, 1)}, []),
        ({"dtype": tf.float32, "shown": "without"}, []),
        ({"penalty_scaled": False}, ["PENALTY_DIVIDED_BY_LOSS_SCALE"]),
    ],
)
def test_scales_that_stay_or_miss_penalties_are_named(settings, ids):
    assert [hazard.id for hazard in scaled_losses(*program(**settings))] == ids


@pytest.mark.parametrize("penalty_scaled", [True, False])
def test_a_division_by_the_scale_is_none_by_another_count(penalty_scaled):
    assert not list(sums_divided_by_another_count(*program(penalty_scaled=penalty_scaled)))


@pytest.mark.parametrize("clip, count", [("before", 1), ("after", 0), (None, 0)])
def test_clipping_of_scaled_gradients_is_named(clip, count):
    found = [hazard.id for hazard in clipped_while_scaled(*program(clip=clip))]
    assert found == ["CLIPPED_WHILE_SCALED"] * count


@pytest.mark.parametrize("divisor, ids", [(128.0, []), (1.0, ["LOSS_SCALE_KEPT"])])
def test_a_scale_that_is_undone_behind_clipping_is_not_kept(divisor, ids):
    assert [hazard.id for hazard in scaled_losses(*program(clip="before", divisor=divisor))] == ids


@pytest.mark.parametrize("before, count", [(True, 1), (False, 0)])
def test_clipping_in_each_tower_is_clipping_too(before, count):
    def build():
        w, towers = v1.get_variable("w", [4, 3], use_resource=False), []
        for tower, x in enumerate(tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradient = tf.gradients(128.0 * tf.reduce_mean(tf.square(x @ w)), [w])[0]
                gradient = gradient if before else gradient / 128.0
                gradient = tf.clip_by_global_norm([gradient], 1.0)[0][0]
                towers.append(gradient / 128.0 if before else gradient)
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(towers) / 2.0, w)], name="train")

    whole = saved(traced(build), trainable_variables=["w"])
    found = analyse_graph(whole, "made-for-a-test", ["train"])
    assert len(list(clipped_while_scaled(WholeGraph(whole, found), found))) == count


@pytest.mark.parametrize("divisor, count", [(128.0 * 128.0, 1), (128.0, 0), (128.0 * 64.0, 0)])
def test_a_scale_that_is_taken_out_twice_is_named(divisor, count):
    whole, found = program(divisor=divisor)
    names = [hazard.id for hazard in scaled_losses(whole, found)]
    assert names == ["LOSS_SCALE_REMOVED_TWICE"] * count
    assert not count or not list(sums_divided_by_another_count(whole, found))
