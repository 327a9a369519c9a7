import dataclasses

import numpy as np
import pytest

from tests.cases import Everything, assert_same, records, setup
from workloads import optimizers, schedules
from workloads.workload import MovingAverage

STEPS = 6
RULES = [
    optimizers.GradientDescent(),
    optimizers.Momentum(0.9),
    optimizers.Momentum(0.9, nesterov=True),
    optimizers.Adam(),
    optimizers.Adam(0.5, 0.9, 1e-4),
    optimizers.RMSProp(),
    optimizers.RMSProp(0.9, 0.9, 1e-3),
    optimizers.Adagrad(),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_kernels_are_those_of_the_1x_optimizers(rule, dtype):
    made = setup(Everything(optimizer=rule), 2, dtype=dtype)
    assert_same(records(made.legacy_program(), STEPS), records(made.modern_program(), STEPS))


@pytest.mark.parametrize("rule", [optimizers.Adam(epsilon=1e-7), optimizers.RMSProp(epsilon=1e-7)], ids=repr)
def test_a_different_epsilon_is_seen(rule):
    left = records(setup(Everything(optimizer=type(rule)()), 2).legacy_program(), 1)
    right = records(setup(Everything(optimizer=rule), 2).modern_program(), 1)
    with pytest.raises(AssertionError, match="weights"):
        assert_same(left, right)


@pytest.mark.parametrize("average", [MovingAverage(0.999), MovingAverage(0.5), MovingAverage(0.75, warm_up=False)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_moving_averages(average, dtype):
    made = setup(Everything(moving_average=average), 2, dtype=dtype)
    assert_same(records(made.legacy_program(), STEPS), records(made.modern_program(), STEPS))


def keras_error(rule, rate, steps=10):
    """Largest difference of the weights, relative to each tensor's largest, after `steps` steps by Keras."""
    workload = Everything(optimizer=rule, learning_rate=rate, dropout_rate=0.0)
    made = setup(workload, 2, modern={"update_rules": "keras"})
    left, right = records(made.legacy_program(), steps)[-1], records(made.modern_program(), steps)[-1]
    assert right.drift == []
    assert set(left.state.slots) == set(right.state.slots)
    return max(
        np.abs(left.state.weights[name] - right.state.weights[name]).max() / np.abs(left.state.weights[name]).max()
        for name in left.state.weights
    )


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_keras_agrees_to_rounding(rule):
    assert keras_error(rule, schedules.Fixed(0.01)) < keras_tolerance(rule)


def keras_tolerance(rule):
    """Ten steps' rounding; where a rule divides by the root of a tiny square, rounding is divided by it too."""
    return 1e-4 if isinstance(rule, (optimizers.Adam, optimizers.RMSProp)) else 1e-5


def test_keras_momentum_cannot_agree_when_the_rate_changes_and_says_so():
    rate = schedules.PiecewiseConstant((3,), (0.1, 0.01))
    assert keras_error(optimizers.Momentum(0.9), rate) > 1e-3
    made = setup(Everything(learning_rate=rate), 2, modern={"update_rules": "keras"})
    with made.modern_program() as program:
        assert "CANNOT agree" in program.describe()["update rules"]


def test_keras_slots_can_be_loaded():
    workload = dataclasses.replace(Everything(optimizer=optimizers.Adam()), learning_rate=schedules.Fixed(0.01))
    made = setup(workload, 2, modern={"update_rules": "keras"})
    with made.modern_program() as program:
        middle = program.step().state
        expected = program.step()
    with made.modern_program() as program:
        program.load(middle)
        assert_same([expected], [program.step()])
