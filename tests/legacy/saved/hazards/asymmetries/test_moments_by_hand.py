"""Adam by hand, with the decays of its corrections and the squares of gradients, and without."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.asymmetries import moments_by_hand
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards.minimized import fed, variable

v1 = tf.compat.v1
ZEROS = v1.zeros_initializer()


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


def uncorrected(spread=0.999, rate=None, correct=False, initializer=ZEROS, read=False, power=tf.square, first=False):
    """The hazards of m / (sqrt(s) + epsilon) of new moments, as programs take them before or behind the assignment."""

    def build():
        w = variable("w", 4, 3)
        g = tf.gradients(tf.reduce_mean(tf.square(fed("x", 8, 4) @ w)), [w])[0]
        m, s = (v1.get_variable(n, [4, 3], initializer=initializer, trainable=False, use_resource=False) for n in "ms")
        mean, square = 0.9 * m + 0.1 * g, spread * s + (1.0 - spread) * power(g)
        kept = [v1.assign(m, mean), v1.assign(s, square)]
        if read:
            mean, square = kept
        if correct:
            mean = mean / (1.0 - 0.9 ** fed("t"))
        by = 0.01 if rate is None else rate()
        root = tf.sqrt(square) + 1e-8
        tf.group(v1.assign(w, w - (by * mean / root if first else by * (mean / root))), *kept, name="train")

    whole = WholeGraph(saved(traced(build), trainable_variables=["w"]))
    return [hazard.id for hazard in moments_by_hand.moments_without_correction(whole)]


@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize("first", [False, True])
def test_moments_without_a_correction_are_named(read, first):
    assert uncorrected(read=read, first=first) == ["MOMENTS_NOT_CORRECTED"]


@pytest.mark.parametrize(
    "options",
    [
        {"spread": 0.99},  # 0.1 / sqrt(0.01) = 1: the first update is Adam's
        {"correct": True},
        {"correct": True, "read": True},
        {"correct": True, "first": True},
        {"rate": lambda: fed("rate")},
        {"rate": lambda: fed("rate"), "first": True},
        {"rate": lambda: 0.01 * tf.minimum(1.0, v1.get_variable("t", [], trainable=False, use_resource=False))},
        {"rate": lambda: 0.01 * tf.sqrt(1.0 - tf.pow(0.999, fed("t"))) / (1.0 - tf.pow(0.9, fed("u")))},
        {"initializer": v1.ones_initializer()},
        {"power": tf.abs},
    ],
)
def test_moments_that_are_corrected_or_need_no_correction_are_not(options):
    assert uncorrected(**options) == []
