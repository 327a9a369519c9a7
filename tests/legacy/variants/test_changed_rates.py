"""Learning rates that are variables, which the step itself changes behind their use."""

import pytest
import tensorflow as tf

from legacy.rerun import observed
from tests.legacy.variants.programs import TOWERS, assert_same, gradient_of, lifted, split_batch, towers, weights

v1 = tf.compat.v1


def decayed(use_resource=False, first=False):
    """A train op that multiplies its rate by 0.5, after the update or, with `first`, before it."""
    x = split_batch()
    rate = v1.get_variable("rate", [], initializer=v1.constant_initializer(1.0), use_resource=use_resource)
    gradient = tf.add_n(towers(lambda tower: gradient_of(x[tower]))) / TOWERS
    if first:
        with tf.control_dependencies([v1.assign(rate, rate * 0.5)]):
            return v1.train.GradientDescentOptimizer(tf.identity(rate)).apply_gradients([(gradient, weights())])
    update = v1.train.GradientDescentOptimizer(rate).apply_gradients([(gradient, weights())])
    with tf.control_dependencies([update]):
        return v1.assign(rate, rate * 0.5).op


def decayed_and_kept():
    """As `decayed`, with another variable that is set to the new rate."""
    with tf.control_dependencies([decayed()]):
        (rate,) = (one for one in v1.global_variables() if one.op.name == "rate")
        kept = v1.get_variable("kept", [], initializer=v1.zeros_initializer(), trainable=False, use_resource=False)
        return v1.assign(kept, rate * 0.25).op


@pytest.mark.parametrize("build", [decayed, decayed_and_kept])
def test_the_rate_is_the_one_that_the_update_takes_and_not_what_it_becomes(build, tmp_path):
    setup = lifted(build, tmp_path)
    plan = setup.job.workload.plan
    (phase,) = plan.phases
    assert observed.observed_rates(phase, observed.changed_tensors(plan)) != observed.learning_rate_tensors(phase)
    with setup.legacy_program() as towers_of_old:
        assert [float(towers_of_old.step().learning_rate[0]) for _ in range(3)] == [1.0, 0.5, 0.25]
    assert_same(setup)


def constant():
    x = split_batch()
    gradient = tf.add_n(towers(lambda tower: gradient_of(x[tower])))
    return v1.train.GradientDescentOptimizer(0.5).apply_gradients([(gradient, weights())])


@pytest.mark.parametrize("build", [constant, lambda: decayed(use_resource=True)])
def test_rates_that_no_reference_gives_are_fetched_as_they_are(build, tmp_path):
    plan = lifted(build, tmp_path).job.workload.plan
    (phase,) = plan.phases
    assert observed.observed_rates(phase, observed.changed_tensors(plan)) == observed.learning_rate_tensors(phase)


def test_a_rate_that_is_changed_before_its_use_has_both_sides_equal(tmp_path):
    assert_same(lifted(lambda: decayed(first=True), tmp_path))
