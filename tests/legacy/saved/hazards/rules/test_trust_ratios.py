"""Updates by hand that multiply by the ratio of two norms, either way up."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.rules.trust_ratios import inverted_trust_ratios
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards.minimized import fed, variable

v1 = tf.compat.v1


def updated(change, optimizer=None):
    """The hazards of w -= 0.1 * change(gradient, w, |gradient|, |w|), or of an optimizer that takes it as gradient."""

    def build():
        w = variable("w", 4, 3)
        (gradient,) = tf.gradients(tf.reduce_mean(tf.square(fed("x", 8, 4) @ w)), [w])
        norms = [tf.sqrt(tf.reduce_sum(tf.square(one))) for one in (gradient, w)]
        step = change(gradient, w, *norms)
        if optimizer is None:
            v1.assign_sub(w, 0.1 * step, name="train")
        else:
            optimizer.apply_gradients([(step, w)], name="train")

    return [hazard.id for hazard in inverted_trust_ratios(WholeGraph(saved(traced(build), trainable_variables=["w"])))]


@pytest.mark.parametrize(
    "change, count",
    [
        (lambda g, w, of_g, of_w: of_g / of_w * g, 1),
        (lambda g, w, of_g, of_w: tf.where(of_w > 0, of_g / (of_w + 1e-9), 1.0) * (g + 1e-4 * w), 1),
        (lambda g, w, of_g, of_w: 0.5 * (of_g + 0.25 * of_w) / of_w * g, 1),
        (lambda g, w, of_g, of_w: 0.5 * of_w / (of_g + 0.25 * of_w) * g, 0),
        (lambda g, w, of_g, of_w: of_w / of_g * g, 0),
        (lambda g, w, of_g, of_w: g / tf.maximum(1.0, of_g / of_w), 0),  # clipped, where gradients are large
        (lambda g, w, of_g, of_w: tf.where(of_g / of_w > 1.0, w, g), 0),
    ],
)
def test_a_ratio_of_gradient_over_weight_is_named(change, count):
    assert updated(change) == ["TRUST_RATIO_INVERTED"] * count


@pytest.mark.parametrize(
    "optimizer, inverted, count",
    [
        (v1.train.MomentumOptimizer(0.1, 0.5), True, 1),
        (v1.train.GradientDescentOptimizer(0.1), True, 1),
        (v1.train.MomentumOptimizer(0.1, 0.5), False, 0),
        (v1.train.AdamOptimizer(0.1), True, 0),  # whose step does not depend on a factor of the gradient
    ],
)
def test_so_is_one_that_multiplies_the_gradient_of_an_optimizer(optimizer, inverted, count):
    found = updated(lambda g, w, of_g, of_w: (of_g / of_w if inverted else of_w / of_g) * g, optimizer)
    assert found == ["TRUST_RATIO_INVERTED"] * count
