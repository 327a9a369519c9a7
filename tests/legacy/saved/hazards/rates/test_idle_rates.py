"""Variables with the name of a learning rate that optimizers do not take."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.rates.idle_rates import idle_rates
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def named(use, name="learning_rate"):
    """Whether the rate of a program is named that trains with what `use` returns of a variable."""

    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        start = v1.constant_initializer(0.5)
        rate = v1.get_variable(name, [], initializer=start, trainable=False, use_resource=False)
        loss = tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [8, 4], "x") @ w))
        v1.train.GradientDescentOptimizer(use(rate)).minimize(loss, name="train")

    return [hazard.op for hazard in idle_rates(WholeGraph(saved(traced(build), trainable_variables=["w"])))]


def decayed(rate, value=0.5):
    v1.assign(rate, rate * 0.9, name="decay")
    return value


def shown(rate):
    v1.assign(rate, v1.placeholder(tf.float32, [], "new"))
    v1.summary.scalar("rate", rate)
    return 0.5


@pytest.mark.parametrize("use", [decayed, shown, lambda rate: shown(rate) and decayed(rate)])
def test_a_rate_that_only_it_and_summaries_read_is_named(use):
    assert named(use) == ["learning_rate"]
    assert named(use, "share") == [], "no learning rate"


def kept_in_another(rate):
    other = v1.get_variable("best_rate", [], trainable=False, use_resource=False)
    v1.assign(other, rate)
    return decayed(rate)


def stops(rate):
    tf.less(decayed(rate) * rate, 1e-4, name="is_done")
    return 0.5


@pytest.mark.parametrize(
    "use",
    [
        lambda rate: decayed(rate, rate),
        lambda rate: decayed(rate, rate * 2.0),
        lambda rate: decayed(rate, v1.placeholder(tf.float32, [], "fed")),
        lambda rate: decayed(rate, v1.train.exponential_decay(0.5, v1.train.get_or_create_global_step(), 10, 0.5)),
        lambda rate: 0.5,
        kept_in_another,
        stops,
    ],
)
def test_a_rate_that_something_takes_is_not(use):
    assert named(use) == []
