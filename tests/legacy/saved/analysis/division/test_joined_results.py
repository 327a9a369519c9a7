"""Results of all towers that an update joins, other than gradients: found where they meet, and what they change."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.analysis.division.joined_results import find_joins
from tests.legacy.saved.graphs import graph_of, saved, traced
from workloads.lifted.graph import TensorId
from workloads.lifted.plan import Combine, Effect
from workloads.lifted.replication import own_number_only

v1 = tf.compat.v1


def joining(update, tower_state=False):
    """The plan of two towers whose train op is `update(sums, counts, gradients, w, state)`."""

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

    return analyse_graph(saved(traced(build), trainable_variables=["w"]), "made-for-a-test", ["train"]).plan


def descend(gradient, w):
    return v1.train.GradientDescentOptimizer(0.5).apply_gradients([(gradient, w)])


def largest(sums):
    return tf.maximum(sums[0], sums[1], name="largest")


def by_largest(sums, counts, gradients, w, state):
    return descend(tf.add_n(gradients) / largest(counts), w)


def by_counts(sums, counts, gradients, w, state):
    return descend(tf.add_n(gradients) / tf.add_n(counts, name="words"), w)


def moves_state(sums, counts, gradients, w, state):
    moved = v1.assign(state, 0.5 * state + 0.5 * largest(sums))
    return descend(tf.add_n(gradients) / 2.0, w), moved


def of_gradients_alone(sums, counts, gradients, w, state):
    mean = tf.add_n(gradients) / 2.0
    return descend(tf.clip_by_global_norm([mean], 1.0)[0][0], w)


def of_first_tower(sums, counts, gradients, w, state):
    return descend(tf.add_n(gradients) / (1.0 + counts[0]), w)


@pytest.mark.parametrize(
    "update, tower_state, joined, beside",
    [
        (by_largest, False, ["largest:0"], []),
        (moves_state, True, ["largest:0"], []),
        (moves_state, False, [], ["state"]),  # what no loss depends on, as a reported average
        (by_counts, False, [], []),
        (of_gradients_alone, False, [], []),
        (of_first_tower, False, [], []),
    ],
)
def test_what_is_joined_in_another_way_than_by_a_mean_or_sum_has_the_towers_number(update, tower_state, joined, beside):
    plan = joining(update, tower_state)
    assert (plan.phases[0].joined, plan.phases[0].joined_beside) == (joined, beside)
    reason = "the update takes what all towers' results are joined in (largest:0)" if joined else ""
    assert own_number_only(plan) == reason


JOINED = """
    a = Sum()
    b = Sum()
    c = Sum()
    both = AddN(a, b)
    half = Mul(both)
    set = Assign(half)
    other = Neg(c)
    also = Assign(other)
"""


def test_a_join_is_where_results_of_several_towers_meet_before_an_update():
    graph = graph_of(JOINED)
    row = {0: TensorId("a", 0), 1: TensorId("b", 0)}
    updates = [Effect(name, "Assign", [name], []) for name in ("set", "also")]
    crossings = {(TensorId("half", 0), 0): row, (TensorId("other", 0), 0): {0: TensorId("c", 0)}}

    def joins(combine=(), results=()):
        found = find_joins(graph, crossings, {"a", "b", "c"}, combine, updates, results)
        return [(one.first, [update.node for update in one.updates]) for one in found]

    assert joins() == [("both", ["set"])]
    mean = Combine("set", "mean", "half:0", 1.0, [["a:0"], ["b:0"]])
    assert joins(combine=[mean]) == joins(results=[mean]) == []
