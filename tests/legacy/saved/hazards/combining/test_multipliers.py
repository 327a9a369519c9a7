"""Constants on some gradients, before an optimizer that divides gradients by their size, or takes them whole."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.combining.multipliers import multipliers_without_effect
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def named(factors, optimizer, clip=False):
    """The hazards of a layer: `factors` multiply the gradients of its kernel and its bias in each tower."""

    def build():
        variables = [v1.get_variable(n, s, use_resource=False) for n, s in (("kernel", [3, 2]), ("bias", [2]))]
        towers = []
        for tower, x in enumerate(tf.split(v1.placeholder(tf.float32, [8, 3], "x"), 2)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                loss = tf.reduce_mean(tf.nn.softplus(x @ variables[0] + variables[1]))
                gradients = tf.gradients(loss, variables)
                towers.append([g if c == 1 else c * g for g, c in zip(gradients, factors)])
        means = [tf.reduce_mean(tf.stack(own), 0) for own in zip(*towers)]
        means = tf.clip_by_global_norm(means, 1.0)[0] if clip else means
        optimizer().apply_gradients(list(zip(means, variables)), name="train")

    graph = saved(traced(build), trainable_variables=["kernel", "bias"])
    found = analyse_graph(graph, "small", ["train"])
    return [hazard.id for hazard in multipliers_without_effect(WholeGraph(graph, found), found)]


@pytest.mark.parametrize("weight, count", [(0.25, 0), (1.0, 1), (0.5, 1)])
def test_the_weight_of_a_second_loss_is_no_multiplier_of_its_own_head(weight, count):
    """Each tower adds `weight` times a second loss's gradients to those of a shared kernel; its head's have 0.25."""

    def build():
        shared, first, second = (v1.get_variable(n, [3, 3], use_resource=False) for n in ("shared", "first", "second"))
        towers = []
        for tower, x in enumerate(tf.split(v1.placeholder(tf.float32, [8, 3], "x"), 2)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                one, other = (tf.reduce_mean(tf.nn.softplus(tf.tanh(x @ shared) @ head)) for head in (first, second))
                gradients, of_other = tf.gradients(one, [shared, first]), tf.gradients(other, [shared, second])
                towers.append([gradients[0] + weight * of_other[0], gradients[1], 0.25 * of_other[1]])
        means = [tf.reduce_mean(tf.stack(own), 0) for own in zip(*towers)]
        adam()().apply_gradients(list(zip(means, [shared, first, second])), name="train")

    graph = saved(traced(build), trainable_variables=["shared", "first", "second"])
    found = analyse_graph(graph, "small", ["train"])
    hazards = [hazard.id for hazard in multipliers_without_effect(WholeGraph(graph, found), found)]
    assert hazards == ["MULTIPLIER_WITHOUT_EFFECT"] * count


def adam(epsilon=1e-8):
    return lambda: v1.train.AdamOptimizer(0.001, epsilon=epsilon)


@pytest.mark.parametrize(
    "factors, optimizer, clip, count",
    [
        ((1, 0.01), adam(), False, 1),
        ((1, 10.0), lambda: v1.train.RMSPropOptimizer(0.001), False, 1),
        ((1, 1), adam(), False, 0),
        ((0.5, 0.5), adam(), False, 0),  # as of a scale of all
        ((1, -1.0), adam(), False, 0),  # the other direction
        ((1, 0.01), adam(1.0), False, 0),  # an epsilon that is no small one
        ((1, 0.01), adam(), True, 0),  # the norm of all counts it less
        ((1, 0.01), lambda: v1.train.MomentumOptimizer(0.5, 0.5), False, 0),
    ],
)
def test_a_constant_on_some_gradients_has_no_effect_where_their_size_has_none(factors, optimizer, clip, count):
    assert named(factors, optimizer, clip) == ["MULTIPLIER_WITHOUT_EFFECT"] * count
