"""Penalties that are subtracted, or are of variables that nothing trains, beside clean twins."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.penalties.signs import penalties_of_untrained, subtracted_penalties
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def whole_of(loss):
    def build():
        w, kept = (v1.get_variable(name, [4, 3], use_resource=False, trainable=name == "w") for name in ("w", "kept"))
        data = tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [2, 4], "x") @ w))
        total = loss(data, tf.nn.l2_loss(w), tf.nn.l2_loss(kept))
        v1.train.GradientDescentOptimizer(0.5).minimize(total, var_list=[w], name="train")

    return WholeGraph(saved(traced(build), trainable_variables=["w"]))


@pytest.mark.parametrize(
    "loss, count",
    [
        (lambda data, own, other: data + 0.1 * own, 0),
        (lambda data, own, other: data - 0.1 * own, 1),
        (lambda data, own, other: -(0.1 * own - data), 1),
        (lambda data, own, other: -(-data - 0.1 * own), 0),
    ],
)
def test_subtracted_penalties_are_named(loss, count):
    found = [hazard.id for hazard in subtracted_penalties(whole_of(loss))]
    assert found == ["PENALTY_SUBTRACTED"] * count


@pytest.mark.parametrize("of_other", [True, False])
def test_penalties_of_untrained_variables_are_named(of_other):
    found = list(penalties_of_untrained(whole_of(lambda data, own, other: data + 0.1 * (other if of_other else own))))
    assert [hazard.id for hazard in found] == ["PENALTY_OF_UNTRAINED"] * of_other
