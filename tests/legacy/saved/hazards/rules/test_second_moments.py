"""Updates by hand that divide by averages of squared gradients, or by their roots."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.rules.second_moments import averages_without_root
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards.minimized import fed, variable

v1 = tf.compat.v1


def updated(change, square=lambda g: 0.25 * g * g):
    """The hazards of w -= 0.1 * change(m, s) of moving averages m of gradients and s of their squares."""

    def build():
        w = variable("w", 4, 3)
        m, s = (v1.get_variable(name, [4, 3], trainable=False, use_resource=False) for name in ("m", "s"))
        (g,) = tf.gradients(tf.reduce_mean(tf.square(fed("x", 8, 4) @ w)), [w])
        new_m, new_s = 0.5 * m + 0.5 * g, 0.75 * s + square(g)
        step = w - 0.1 * change(new_m, new_s)
        tf.group(v1.assign(m, new_m), v1.assign(s, new_s), v1.assign(w, step), name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    return [hazard.id for hazard in averages_without_root(whole)]


@pytest.mark.parametrize(
    "change, count",
    [
        (lambda m, s: m / (s + 1e-6), 1),
        (lambda m, s: m / (s / 0.5 + 1e-6), 1),
        (lambda m, s: m / (tf.sqrt(s) + 1e-6), 0),
        (lambda m, s: m / tf.sqrt(s + 1e-6), 0),
        (lambda m, s: m / (s + 0.1), 0),  # the damping of a natural gradient
        (lambda m, s: m + 0.0 * s, 0),
    ],
)
def test_an_average_of_squares_without_its_root_is_named(change, count):
    assert updated(change) == ["AVERAGE_WITHOUT_ROOT"] * count


def test_an_average_of_something_else_is_not():
    assert updated(lambda m, s: m / (s + 1e-6), square=lambda g: 0.25 * tf.abs(g)) == []
