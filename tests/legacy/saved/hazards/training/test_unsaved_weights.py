"""Savers that are made before the model, and those that save weights."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.training.unsaved_weights import weights_that_are_not_saved
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "kept, count", [(("step",), 1), (("step", "rate"), 1), (("step", "w"), 0), (("frozen",), 0), ((), 0)]
)
def test_a_saver_of_numbers_alone_is_named(kept, count):
    def build():
        step = v1.get_variable("step", [], tf.int64, v1.zeros_initializer(), trainable=False, use_resource=False)
        rate = v1.get_variable("rate", [], initializer=v1.ones_initializer(), trainable=False, use_resource=False)
        frozen = v1.get_variable("frozen", [4, 4], trainable=False, use_resource=False)
        w = v1.get_variable("w", [4, 3], use_resource=False)
        loss = tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [8, 4], "x") @ frozen @ w))
        v1.train.GradientDescentOptimizer(rate).minimize(loss, step, [w], name="train")
        if kept:
            v1.train.Saver([{"w": w, "step": step, "rate": rate, "frozen": frozen}[name] for name in kept])

    graph = saved(traced(build), trainable_variables=["w"])
    hazards = list(weights_that_are_not_saved(WholeGraph(graph, analyse_graph(graph, "small", ["train"]))))
    assert [hazard.id for hazard in hazards] == ["WEIGHTS_NOT_SAVED"] * count
