"""Learning rates that count twice, beside usual ones."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.updates import rates
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(check, make_rate, factor=lambda rate: 1.0, optimizer=v1.train.MomentumOptimizer):
    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        step = v1.get_variable("step", [], tf.int64, use_resource=False, trainable=False)
        rate = make_rate(step)
        gradient = tf.gradients(tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [2, 4], "x") @ w)), [w])[0]
        made = optimizer(rate, 0.9) if optimizer is v1.train.MomentumOptimizer else optimizer(rate)
        made.apply_gradients([(gradient * factor(rate), w)], global_step=step, name="train")

    return [hazard.id for hazard in check(WholeGraph(saved(traced(build), trainable_variables=["w"])))]


def decayed(step):
    return v1.train.exponential_decay(0.1, step, 100, 0.5)


@pytest.mark.parametrize("optimizer", [v1.train.MomentumOptimizer, v1.train.GradientDescentOptimizer])
def test_a_gradient_times_the_rate_of_its_update_is_named(optimizer):
    ids = found(rates.learning_rate_twice, decayed, lambda rate: rate, optimizer)
    assert ids == ["LEARNING_RATE_TWICE"]


@pytest.mark.parametrize("optimizer", [v1.train.MomentumOptimizer, v1.train.AdamOptimizer])
@pytest.mark.parametrize("factor", [lambda rate: 1.0, lambda rate: tf.constant(0.5) * 2.0])
def test_a_gradient_times_another_number_is_not(factor, optimizer):
    assert found(rates.learning_rate_twice, decayed, factor, optimizer) == []


def test_a_rule_that_divides_by_the_size_of_gradients_is_not():
    assert found(rates.learning_rate_twice, decayed, lambda rate: rate, v1.train.AdamOptimizer) == []


@pytest.mark.parametrize(
    "times, divisor, optimizer, ids",
    [
        (2, 1.0, v1.train.GradientDescentOptimizer, ["LEARNING_RATE_SCALED_WITH_SUM"]),
        (2, 2.0, v1.train.GradientDescentOptimizer, []),
        (3, 1.0, v1.train.GradientDescentOptimizer, []),
        (2, 1.0, v1.train.AdamOptimizer, []),
        (None, 1.0, v1.train.GradientDescentOptimizer, []),
    ],
)
@pytest.mark.parametrize("shared", [True, False])
def test_a_rate_times_the_towers_beside_a_sum_is_named_and_a_power_is_not(times, divisor, optimizer, ids, shared):
    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        step = v1.train.get_or_create_global_step()
        parts, losses = tf.split(v1.placeholder(tf.float32, [4, 4], "x"), 2), []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                losses.append(tf.reduce_mean(tf.square(parts[tower] @ w)))
        made = optimizer(decayed(step) * times if times else tf.pow(decayed(step), 2.0))
        if shared:
            made.minimize(tf.add_n(losses) / divisor, step, name="train")
        else:
            gradients = [tf.gradients(loss, [w])[0] for loss in losses]
            made.apply_gradients([(tf.add_n(gradients) / divisor, w)], step, name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    found = analyse_graph(graph, "made-for-a-test", ["train"])
    assert [hazard.id for hazard in rates.rates_scaled_beside_sums(WholeGraph(graph, found), found)] == ids


@pytest.mark.parametrize("factors, ids", [((2.0, 2.0), ["LEARNING_RATE_SCALED_WITH_SUM"]), ((2.0, 1.0), [])])
def test_twice_the_rate_for_one_of_two_train_ops_is_no_count_of_towers(factors, ids):
    """As for a discriminator, beside a generator."""

    def build():
        rate = decayed(v1.train.get_or_create_global_step())
        parts = tf.split(v1.placeholder(tf.float32, [4, 4], "x"), 2)
        for name, factor in zip(("first", "second"), factors):
            w, gradients = v1.get_variable(name + "_w", [4, 1], use_resource=False), []
            for tower in range(2):
                with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                    gradients += tf.gradients(tf.reduce_mean(tf.square(parts[tower] @ w)), [w])
            made = v1.train.GradientDescentOptimizer(rate * factor)
            made.apply_gradients([(tf.add_n(gradients), w)], name=name)

    graph = saved(traced(build), trainable_variables=["first_w", "second_w"])
    found = analyse_graph(graph, "made-for-a-test", ["first", "second"])
    hazards = list(rates.rates_scaled_beside_sums(WholeGraph(graph, found), found))
    assert [hazard.id for hazard in hazards] == ids
    assert all("if the factor counts the towers" in hazard.description for hazard in hazards)


@pytest.mark.parametrize(
    "for_all, divisor, ids", [(True, 1.0, ["LEARNING_RATE_SCALED_WITH_SUM"]), (False, 1.0, []), (False, 2.0, [])]
)
def test_twice_the_rate_for_some_weights_is_no_count_of_towers(for_all, divisor, ids):
    def build():
        w, b = (v1.get_variable(name, shape, use_resource=False) for name, shape in (("w", [4, 1]), ("b", [1])))
        parts, pairs = tf.split(v1.placeholder(tf.float32, [4, 4], "x"), 2), []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                pairs.append(tf.gradients(tf.reduce_mean(tf.square(parts[tower] @ w + b)), [w, b]))
        rate = decayed(v1.train.get_or_create_global_step())
        rates = [rate * 2.0] * 2 if for_all else [rate, rate * 2.0]
        (of_w, of_b) = [tf.add_n(list(both)) for both in zip(*pairs)]
        updates = [
            v1.train.GradientDescentOptimizer(rate).apply_gradients([pair])
            for rate, pair in zip(rates, [(of_w / divisor, w), (of_b, b)])
        ]
        tf.group(*updates, name="train")

    graph = saved(traced(build), trainable_variables=["w", "b"])
    found = analyse_graph(graph, "made-for-a-test", ["train"])
    assert [hazard.id for hazard in rates.rates_scaled_beside_sums(WholeGraph(graph, found), found)] == ids
