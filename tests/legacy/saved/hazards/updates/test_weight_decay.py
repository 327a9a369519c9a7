"""Weights that decay by the loss and by an assignment, beside those that decay once."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.updates.weight_decay import (
    decayed_by_several_ops,
    decayed_normalizations,
    decayed_twice,
    decays_scaled_twice,
)
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards import minimized

v1 = tf.compat.v1
VARIABLES = {"w": [1, 1, 3, 2], "g": [2], "b": [2]}


def found(penalty, assign, resource=False):
    """The hazards of a step that adds `penalty(w)` to its loss, and runs `assign(w, x)` behind its update."""

    def build():
        w = v1.get_variable("w", [4, 1], use_resource=resource)
        x = v1.placeholder(tf.float32, [2, 4], "x")
        loss = tf.reduce_mean(tf.square(x @ w)) + penalty(w)
        update = v1.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=[w])
        with tf.control_dependencies([update]):
            tf.group(assign(w, x), name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    whole.members = whole.graph.ancestors(["train"])
    return [hazard.id for hazard in decayed_twice(whole)]


def l2(w):
    return 0.01 * tf.nn.l2_loss(w)


def none(w):
    return 0.0


def decay(w, x):
    return v1.assign_sub(w, 0.5 * 0.01 * w)


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("assign", [decay, lambda w, x: v1.assign(w, w * 0.99)])
def test_a_penalty_beside_a_decay_is_named(assign, resource):
    assert found(l2, assign, resource) == ["WEIGHT_DECAYED_TWICE"]


@pytest.mark.parametrize(
    "penalty, assign",
    [
        (none, decay),
        (l2, lambda w, x: tf.no_op()),
        (l2, lambda w, x: v1.assign(w, tf.clip_by_value(w, -1.0, 1.0))),
        (l2, lambda w, x: v1.assign(w, w * tf.reduce_mean(x))),
        (lambda w: 0.01 * tf.reduce_sum(tf.abs(w)), decay),
    ],
)
def test_one_decay_or_another_assignment_is_not(penalty, assign):
    assert found(penalty, assign) == []


@pytest.mark.parametrize("in_update, beside, count", [(True, True, 1), (True, False, 0), (False, True, 0)])
def test_a_decay_in_the_update_of_a_momentum_and_another_besides_is_named(in_update, beside, count):
    def build():
        w, momentum = (v1.get_variable(name, [4, 1], use_resource=False) for name in ("w", "m"))
        (gradient,) = tf.gradients(tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [2, 4], "x") @ w)), [w])
        step = v1.assign(momentum, 0.9 * momentum + 0.1 * (gradient + 1e-4 * w if in_update else gradient))
        with tf.control_dependencies([v1.assign_sub(w, step)]):
            tf.group(decay(w, None) if beside else tf.no_op(), name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    whole.members = whole.graph.ancestors(["train"])
    assert [hazard.id for hazard in decayed_twice(whole)] == ["WEIGHT_DECAYED_TWICE"] * count


@pytest.mark.parametrize("form", ["fused", "by hand", "in branches"])
@pytest.mark.parametrize(
    "names, rate, trained, count",
    [
        ("wgb", 0.01, "wgb", 1),
        ("wb", 0.01, "wgb", 1),
        ("w", 0.01, "wgb", 0),
        ("wgb", 0.0, "wgb", 0),
        ("wgb", 0.01, "wg", 1),
        ("wgb", 0.01, "w", 0),  # a var_list keeps them as they are
    ],
)
def test_scales_and_offsets_of_a_normalization_in_the_penalty_are_named(names, rate, trained, count, form):
    def build():
        made = {name: v1.get_variable(name, shape, use_resource=False) for name, shape in VARIABLES.items()}
        x = tf.nn.conv2d(v1.placeholder(tf.float32, [2, 4, 4, 3], "x"), made["w"], 1, "SAME")
        if form == "fused":
            x = v1.nn.fused_batch_norm(x, made["g"], made["b"])[0]
        elif form == "in branches":  # of training and evaluation
            given = {"mean": tf.zeros([2]), "variance": tf.ones([2]), "is_training": False}
            x = v1.cond(
                v1.placeholder(tf.bool, [], "is_training"),
                lambda: v1.nn.fused_batch_norm(x, made["g"], made["b"])[0],
                lambda: v1.nn.fused_batch_norm(x, made["g"], made["b"], **given)[0],
            )
        else:
            x = tf.nn.batch_normalization(x, *tf.nn.moments(x, [0, 1, 2]), made["b"], made["g"], 1e-3)
        loss = tf.reduce_mean(tf.square(x)) + rate * tf.add_n([tf.nn.l2_loss(made[name]) for name in names])
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=[made[n] for n in trained], name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=list(VARIABLES)))
    assert [hazard.id for hazard in decayed_normalizations(whole)] == ["NORMALIZATION_DECAYED"] * count


def rows(w, x):
    """The row of a table for the class of each example."""
    return tf.nn.embedding_lookup(w, tf.argmax(x, 1))


@pytest.mark.parametrize(
    "normalized, count",
    [
        (lambda w, x: x @ tf.nn.l2_normalize(w, 0), 0),  # the classes of cosines
        (lambda w, x: tf.nn.l2_normalize(x, 1) @ w, 0),
        (lambda w, x: tf.nn.l2_normalize(x @ w, 0) * w[0], 0),
        (lambda w, x: tf.nn.batch_normalization(x, *tf.nn.moments(x, [0]), None, w[0], 1e-3), 0),  # a part of it
        (lambda w, x: tf.nn.batch_normalization(x, *tf.nn.moments(x, [0]), None, w, 1e-3), 1),
        (lambda w, x: tf.nn.batch_normalization(x, *tf.nn.moments(x, [0]), rows(w, x), rows(w, x), 1e-3), 1),
        (lambda w, x: tf.nn.batch_normalization(rows(w, x), *tf.nn.moments(x, [0]), None, None, 1e-3), 0),
    ],
)
def test_weights_that_are_normalized_themselves_are_no_scale(normalized, count):
    def build():
        w = v1.get_variable("w", [3, 3], use_resource=False)
        loss = tf.reduce_mean(tf.square(normalized(w, v1.placeholder(tf.float32, [3, 3], "x")) - 1.0))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss + 0.01 * tf.nn.l2_loss(w), name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    assert [hazard.id for hazard in decayed_normalizations(whole)] == ["NORMALIZATION_DECAYED"] * count


@pytest.mark.parametrize(
    "penalty, count",
    [
        (lambda w: tf.nn.l2_loss(w) * 0.001 * 0.001, 1),
        (lambda w: tf.add_n([0.001 * tf.nn.l2_loss(w), tf.nn.l2_loss(w)]) * 0.001, 1),
        (lambda w: tf.nn.l2_loss(w) * 0.001, 0),
        (lambda w: tf.nn.l2_loss(w) * 0.5 * 0.5 * 0.001, 0),
        (lambda w: tf.nn.l2_loss(w) * 0.001 * 0.01, 0),
        (lambda w: tf.add_n([tf.nn.l2_loss(w) * 0.001, tf.reduce_mean(w) * 0.001]), 0),
    ],
)
def test_a_penalty_that_is_multiplied_by_its_rate_twice_is_named(penalty, count):
    assert minimized.found(decays_scaled_twice, lambda: penalty(minimized.variable("w", 4, 3))) == (
        ["WEIGHT_DECAY_SCALED_TWICE"] * count
    )


@pytest.mark.parametrize("times, count", [(2, 1), (1, 0)])
def test_weights_that_one_run_lessens_twice_are_named(times, count):
    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        loss = tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [2, 4], "x") @ w))
        update = v1.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=[w])
        tf.group(update, *[decay(w, None) for _ in range(times)], name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    whole.members = whole.graph.ancestors(["train"])
    hazards = list(decayed_by_several_ops(whole))
    assert [hazard.id for hazard in hazards] == ["WEIGHT_DECAYED_BY_SEVERAL_OPS"] * count


def of_update(check, change, penalty=none, assigned=False, resource=False):
    """The hazards of a normalized layer whose scale is updated by `change(gradient, g, x)`, or set to g less half."""

    def build():
        w = v1.get_variable("w", [3, 2], use_resource=False)
        g = v1.get_variable("g", [2], use_resource=resource)
        x = v1.placeholder(tf.float32, [4, 3], "x")
        made = tf.nn.batch_normalization(x @ w, *tf.nn.moments(x @ w, [0]), None, g, 1e-3)
        gradients = tf.gradients(tf.reduce_mean(tf.square(made)) + penalty(g), [w, g])
        changed = [gradients[0], change(gradients[1], g, x)]
        if assigned:
            tf.group(v1.assign_sub(w, 0.5 * changed[0]), v1.assign(g, g - 0.5 * changed[1]), name="train")
        else:
            v1.train.GradientDescentOptimizer(0.5).apply_gradients(zip(changed, [w, g]), name="train")

    return [hazard.id for hazard in check(WholeGraph(saved(traced(build), trainable_variables=["w", "g"])))]


def added(gradient, g, x):
    return gradient + 0.01 * g


def counted(gradient, g, x):
    rate = tf.constant(0.01) * tf.cast(v1.get_variable("step", initializer=0, trainable=False), tf.float32)
    return tf.add_n([gradient * 0.5, tf.negative(rate * g)])


def of_trust(gradient, g, x):
    """The update of LAMB, by a ratio of norms."""
    change = gradient + 0.01 * g
    size, steps = tf.norm(g), tf.norm(change)
    return change * tf.where(size > 0.0, size / (steps + 1e-6), 1.0)


NO_DECAYS = [
    lambda gradient, g, x: gradient,
    lambda gradient, g, x: gradient + g * tf.reduce_mean(x),
    lambda gradient, g, x: gradient * tf.norm(g),
    lambda gradient, g, x: gradient * tf.norm(g) / (tf.norm(gradient) + 1e-6),
    lambda gradient, g, x: gradient / (0.01 * g),
    lambda gradient, g, x: gradient + 0.01 * (g - v1.get_variable("center", [2], trainable=False)),
]


@pytest.mark.parametrize("assigned, resource", [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize(
    "change, count", [(added, 1), (counted, 1), (of_trust, 1), *[(change, 0) for change in NO_DECAYS]]
)
def test_a_multiple_of_a_weight_in_its_update_is_a_decay(change, count, assigned, resource):
    twice = of_update(decayed_twice, change, l2, assigned, resource)
    assert twice == ["WEIGHT_DECAYED_TWICE"] * count
    assert of_update(decayed_twice, change, none, assigned, resource) == []
    alone = of_update(decayed_normalizations, change, none, assigned, resource)
    assert alone == ["NORMALIZATION_DECAYED"] * count


@pytest.mark.parametrize("names, count", [("gb", 1), ("b", 1), ("", 0)])
@pytest.mark.parametrize(
    "standardize",
    [
        lambda x, mean, variance: (x - mean) * tf.math.rsqrt(variance + 1e-6),
        lambda x, mean, variance: (x - mean) / tf.sqrt(variance + 1e-6),
        lambda x, mean, variance: (x - mean) / (tf.sqrt(variance) + 1e-6),
    ],
)
def test_scales_and_offsets_of_a_normalization_by_hand_are_named(standardize, names, count):
    def build():
        made = {name: v1.get_variable(name, shape, use_resource=False) for name, shape in VARIABLES.items()}
        x = tf.nn.conv2d(v1.placeholder(tf.float32, [2, 4, 4, 3], "x"), made["w"], 1, "SAME")
        mean = tf.reduce_mean(x, -1, keepdims=True)
        variance = tf.reduce_mean(tf.square(x - mean), -1, keepdims=True)
        x = standardize(x, mean, variance) * made["g"] + made["b"]
        decay = tf.add_n([tf.nn.l2_loss(made[name]) for name in "w" + names])
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(tf.square(x)) + 0.01 * decay, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=list(VARIABLES)))
    assert [hazard.id for hazard in decayed_normalizations(whole)] == ["NORMALIZATION_DECAYED"] * count
