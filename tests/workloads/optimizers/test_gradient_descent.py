import numpy as np

from tests.workloads.optimizers.steps import observed, same
from workloads.optimizers.gradient_descent import GradientDescent
from workloads.optimizers.update_forms import OWN


def test_the_update_is_minus_the_learning_rate_times_the_gradient():
    assert same(GradientDescent().update_forms()[OWN](observed({}, {})), [-1.0, 2.0])


def test_the_gradient_is_recovered_from_the_weights_and_the_learning_rate():
    before, after = {"weight": np.array([1.0])}, {"weight": np.array([0.0])}
    new, old, share = GradientDescent().gradient_difference(before, after, 0.5)
    assert (new - old) / share == 2.0
    assert GradientDescent().gradient_difference(before, after, None) is None


def test_it_keeps_nothing():
    assert GradientDescent().slots() == GradientDescent().accumulators() == GradientDescent().slot_rules() == {}
