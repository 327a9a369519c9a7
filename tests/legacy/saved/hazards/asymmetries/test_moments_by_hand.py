"""Adam by hand, with the decays of its corrections and the squares of gradients, and without."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.asymmetries import moments_by_hand
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards.minimized import fed, variable

v1 = tf.compat.v1


def adam(check, correction=0.999, power=tf.square):
    def build():
        w = variable("w", 4, 3)
        g = tf.gradients(tf.reduce_mean(tf.square(fed("x", 8, 4) @ w)), [w])[0]
        m, s, t = (
            v1.get_variable(name, shape, trainable=False, use_resource=False)
            for name, shape in (("m", [4, 3]), ("s", [4, 3]), ("t", []))
        )
        now = v1.assign_add(t, 1.0)
        mean = v1.assign(m, 0.9 * m + 0.1 * g) / (1.0 - tf.pow(0.9, now))
        square = v1.assign(s, 0.999 * s + 0.001 * power(g)) / (1.0 - tf.pow(correction, now))
        tf.group(v1.assign_sub(w, 0.01 * mean / (tf.sqrt(square) + 1e-8)), name="train")

    return [hazard.id for hazard in check(WholeGraph(saved(traced(build), trainable_variables=["w"])))]


@pytest.mark.parametrize("correction, count", [(0.9, 1), (0.999, 0)])
def test_a_correction_of_another_decay_is_named(correction, count):
    found = adam(moments_by_hand.corrections_of_another_decay, correction=correction)
    assert found == ["CORRECTION_OF_ANOTHER"] * count


@pytest.mark.parametrize("power, count", [(tf.identity, 1), (tf.square, 0), (tf.abs, 0)])
def test_the_root_of_averaged_gradients_is_named(power, count):
    assert adam(moments_by_hand.roots_of_averaged_gradients, power=power) == ["ROOT_OF_NEGATIVE"] * count
