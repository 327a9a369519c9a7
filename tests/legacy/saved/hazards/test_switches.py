"""Switches that are off where nothing is fed, and those that are not."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.hazards.switches import switches_off_by_default
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


@pytest.mark.parametrize("default, is_off", [(False, True), (True, False), (None, False)])
def test_a_switch_whose_default_is_false_is_named(default, is_off):
    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        x = v1.placeholder(tf.float32, [2], "x")
        name = "is_training"
        switch = (
            v1.placeholder(tf.bool, [], name) if default is None else v1.placeholder_with_default(default, [], name)
        )
        loss = v1.cond(switch, lambda: tf.reduce_sum(w * x), lambda: tf.reduce_sum(w))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    found = [hazard[:2] for hazard in switches_off_by_default(WholeGraph(graph, analyse_graph(graph, "small")))]
    assert found == ([("SWITCH_OFF_BY_DEFAULT", "is_training")] if is_off else [])
