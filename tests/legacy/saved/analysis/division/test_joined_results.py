"""Results of all towers that an update joins, other than gradients: right at the towers' own number only."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from tests.legacy.saved.graphs import saved, traced
from workloads.lifted.replication import own_number_only

v1 = tf.compat.v1


def joined_by(update, tower_state=False):
    """Why a program of two towers runs at two replicas only, whose train op is `update(sums, counts, gradients, w)`."""

    def build():
        w = v1.get_variable("w", [3], use_resource=False)
        state = v1.get_variable("state", [], initializer=v1.ones_initializer(), trainable=False, use_resource=False)
        sums, counts, gradients = [], [], []
        for tower, x in enumerate(tf.split(v1.placeholder(tf.float32, [4, 3], "x"), 2)):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"):
                scale = state if tower_state else tf.constant(1.0)
                sums.append(tf.reduce_sum(tf.square(x * w)) * scale)
                counts.append(tf.reduce_sum(tf.cast(x > 0, tf.float32)))
                gradients.append(v1.gradients(sums[-1], [w])[0])
        v1.group(update(sums, counts, gradients, w, state), name="train")

    plan = analyse_graph(saved(traced(build), trainable_variables=["w"]), "made-for-a-test", ["train"]).plan
    return own_number_only(plan)


def descend(gradient, w):
    return v1.train.GradientDescentOptimizer(0.5).apply_gradients([(gradient, w)])


def by_counts(sums, counts, gradients, w, state):
    return descend(tf.add_n(gradients, name="total") / tf.add_n(counts, name="words"), w)


def if_losses_are_small(sums, counts, gradients, w, state):
    gradient = tf.add_n(gradients) / 2.0
    return descend(gradient * tf.cast(tf.add(sums[0], sums[1], name="both") < 9.0, tf.float32), w)


def moves_state(sums, counts, gradients, w, state):
    moved = v1.assign(state, 0.5 * state + 0.5 * tf.add_n(sums, name="both"))
    return descend(tf.add_n(gradients) / 2.0, w), moved


def of_gradients_alone(sums, counts, gradients, w, state):
    mean = tf.add_n(gradients) / 2.0
    return descend(tf.clip_by_global_norm([mean], 1.0)[0][0], w)


def of_first_tower(sums, counts, gradients, w, state):
    return descend(tf.add_n(gradients) / (1.0 + counts[0]), w)


@pytest.mark.parametrize(
    "update, tower_state, joined",
    [
        (by_counts, False, "words:0"),
        (if_losses_are_small, False, "both:0"),
        (moves_state, True, "both:0"),
        (moves_state, False, ""),  # what no loss depends on, as a reported average
        (of_gradients_alone, False, ""),
        (of_first_tower, False, ""),
    ],
)
def test_an_update_that_joins_results_of_all_towers_has_their_number(update, tower_state, joined):
    reason = f"the update takes what all towers' results are joined in ({joined})" if joined else ""
    assert joined_by(update, tower_state) == reason
