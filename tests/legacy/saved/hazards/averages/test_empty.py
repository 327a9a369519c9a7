"""Moving averages of weights that are made before there are any."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.averages.empty import averages_of_nothing
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def names(is_early, is_run=True, name="ExponentialMovingAverage", decays=True):
    """Names of the hazards of a step that moves averages of the weights there are before or behind the model."""

    def averages():
        with v1.name_scope("average"):
            if decays:
                return v1.train.ExponentialMovingAverage(0.999, name=name).apply(v1.trainable_variables())
            return tf.group(*v1.get_collection(v1.GraphKeys.UPDATE_OPS), name="updates")

    def build():
        early = averages() if is_early else None
        w = v1.get_variable("w", [4, 3], use_resource=False)
        x = v1.placeholder(tf.float32, [8, 4], "x")
        update = v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(tf.square(x @ w)))
        moved = early if is_early else averages()
        with tf.control_dependencies([update, *([moved] if is_run else [])]):
            v1.no_op("train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    return [(hazard.id, hazard.op) for hazard in averages_of_nothing(whole)]


@pytest.mark.parametrize("name", ["ExponentialMovingAverage", "ema"])
def test_an_average_that_is_made_before_the_model_averages_nothing(name):
    assert names(True, name=name) == [("AVERAGE_OF_NOTHING", f"average/{name}")]


@pytest.mark.parametrize(
    "options",
    [
        {"is_early": False},
        {"is_early": True, "is_run": False},
        {"is_early": True, "decays": False},  # a model without batch normalization has no such updates
    ],
)
def test_an_average_of_weights_or_one_that_no_step_runs_is_none(options):
    assert not names(**options)
