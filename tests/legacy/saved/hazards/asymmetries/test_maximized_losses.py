"""Momenta by hand that follow an error down, and up."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.asymmetries.maximized_losses import maximized_errors
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards.minimized import fed, variable

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "update, sign, count",
    [
        (lambda w, m, g: v1.assign_sub(w, v1.assign(m, 0.9 * m - 0.1 * g)), 1.0, 1),
        (lambda w, m, g: v1.assign_add(w, v1.assign(m, 0.9 * m + 0.1 * g)), 1.0, 1),
        (lambda w, m, g: v1.assign_add(w, v1.assign(m, 0.9 * m - 0.1 * g)), 1.0, 0),
        (lambda w, m, g: v1.assign_sub(w, 0.5 * v1.assign(m, 0.9 * m + 0.1 * g)), 1.0, 0),
        (lambda w, m, g: v1.assign_sub(w, v1.assign_sub(m, 0.1 * (m - g))), 1.0, 0),
        (lambda w, m, g: v1.assign_add(w, v1.assign(m, 0.9 * m + 0.1 * g)), -1.0, 0),  # of a negative error
    ],
)
def test_an_error_that_momenta_raise_is_named(update, sign, count):
    def build():
        w, m = variable("w", 4, 3), v1.get_variable("m", [4, 3], trainable=False, use_resource=False)
        loss = sign * tf.reduce_mean(tf.square(fed("x", 8, 4) @ w))
        tf.group(update(w, m, tf.gradients(loss, [w])[0]), name="train")

    found = maximized_errors(WholeGraph(saved(traced(build), trainable_variables=["w"])))
    assert [hazard.id for hazard in found] == ["LOSS_MAXIMIZED"] * count


@pytest.mark.parametrize("up, sign, count", [(True, -1.0, 1), (False, -1.0, 0), (True, 1.0, 0)])
def test_a_cross_entropy_by_hand_that_adam_by_hand_raises_is_named(up, sign, count):
    def build():
        w = variable("w", 4, 3)
        m, s = (v1.get_variable(name, [4, 3], trainable=False, use_resource=False) for name in ("m", "s"))
        losses = sign * tf.reduce_sum(fed("y", 8, 3) * tf.nn.log_softmax(fed("x", 8, 4) @ w), 1)
        g = tf.gradients(tf.reduce_mean(losses), [w])[0]
        step = (0.9 * m + 0.1 * g) / (tf.sqrt(0.99 * s + 0.01 * g * g) + 1e-6)
        tf.group(v1.assign(w, w + 0.1 * step if up else w - 0.1 * step), name="train")

    found = maximized_errors(WholeGraph(saved(traced(build), trainable_variables=["w"])))
    assert [hazard.id for hazard in found] == ["LOSS_MAXIMIZED"] * count
