"""Learning rates by hand that a summary shows: whether the optimizer has the rate that follows the step."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.rates.frozen_rates import frozen_learning_rate
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def named(shown, taken, name="learning_rate", schedule=None, counts=True):
    """Hazards of a program whose optimizer takes a rate, and whose summary shows one.

    Args:
      shown: "warm" for a rate that rises with the step, or "constant".
      taken: the same, or "fed", for the optimizer's.
      name: of the summary.
      schedule: function from the step to the rate that rises.
      counts: whether the step is counted.
    """

    def build():
        w = v1.get_variable("w", [4, 1], use_resource=False)
        step = v1.train.get_or_create_global_step()
        warm = (schedule or (lambda step: 0.5 * tf.minimum(1.0, tf.cast(step + 1, tf.float32) / 100.0)))(step)
        rates = {"warm": warm, "constant": tf.constant(0.5), "fed": v1.placeholder(tf.float32, [], "rate")}
        v1.summary.scalar(name, rates[shown])
        loss = tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [8, 4], "x") @ w))
        v1.train.GradientDescentOptimizer(rates[taken]).minimize(loss, step if counts else None, name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    whole = WholeGraph(graph, analyse_graph(graph, "made-for-a-test", ["train"]))
    return [hazard.id for hazard in frozen_learning_rate(whole)]


@pytest.mark.parametrize("schedule", [None, lambda step: v1.train.exponential_decay(0.5, step, 10, 0.5)])
def test_a_rate_that_follows_the_step_and_that_no_optimizer_takes_is_named_once(schedule):
    assert named("warm", "constant", schedule=schedule) == ["LEARNING_RATE_FROZEN"]


@pytest.mark.parametrize(
    "options",
    [
        {"shown": "warm", "taken": "warm"},
        {"shown": "constant", "taken": "constant"},
        {"shown": "warm", "taken": "fed"},
        {"shown": "warm", "taken": "constant", "name": "share_of_random_actions"},
        {"shown": "warm", "taken": "constant", "counts": False},
    ],
)
def test_rates_that_are_shown_as_they_are_taken_or_are_no_rates(options):
    assert named(**options) == []
