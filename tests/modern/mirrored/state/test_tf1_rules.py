import numpy as np
import pytest
import tensorflow as tf

from modern.mirrored.state.tf1_rules import Tf1Rules
from modern.mirrored.state.update_rules import UpdateRules
from modern.mirrored.state.variables import LocalState
from tests.cases import Everything, assert_same, records, setup
from tests.marks import slow_after
from workloads import optimizers
from workloads.program import State
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


DTYPES = ("float32", "float64")


def each_in_turn(cases):
    """(case, dtype) of the cases, with the dtypes in turn; then the other combinations, which are slow."""
    first = [(case, DTYPES[number % 2]) for number, case in enumerate(cases)]
    return slow_after(len(cases), first + [(case, DTYPES[1 - number % 2]) for number, case in enumerate(cases)])


@pytest.mark.parametrize("rule, dtype", each_in_turn(RULES), ids=repr)
def test_kernels_are_those_of_the_1x_optimizers(rule, dtype):
    made = setup(Everything(optimizer=rule), 2, dtype=dtype)
    assert_same(records(made.legacy_program(), STEPS), records(made.modern_program(), STEPS))


@pytest.mark.parametrize("rule", [optimizers.Adam(epsilon=1e-7), optimizers.RMSProp(epsilon=1e-7)], ids=repr)
def test_a_different_epsilon_is_seen(rule):
    left = records(setup(Everything(optimizer=type(rule)()), 2).legacy_program(), 1)
    right = records(setup(Everything(optimizer=rule), 2).modern_program(), 1)
    with pytest.raises(AssertionError, match="weights"):
        assert_same(left, right)


AVERAGES = [MovingAverage(0.999), MovingAverage(0.5), MovingAverage(0.75, warm_up=False)]


@pytest.mark.parametrize("average, dtype", each_in_turn(AVERAGES), ids=repr)
def test_moving_averages(average, dtype):
    made = setup(Everything(moving_average=average), 2, dtype=dtype)
    assert_same(records(made.legacy_program(), STEPS), records(made.modern_program(), STEPS))


def applied(rule, slots=(), gradient=4.0, dtype="float32"):
    """(weight, slots) after one update of a weight of 1 at the learning rate 1/16; `slots` are the values before it."""
    variables = {name: tf.Variable(value, dtype=tf.float32 if "power" in name else dtype) for name, value in slots}
    local = LocalState(0, None, {"w": tf.Variable(1.0, dtype=dtype)}, variables, {}, {})
    rules: UpdateRules = Tf1Rules(rule)
    rules.apply(local, {"w": tf.constant(gradient, dtype)}, tf.constant(1 / 16))
    return float(local.weights["w"]), {name: float(variable) for name, variable in variables.items()}


def test_gradient_descent_by_hand():
    assert applied(optimizers.GradientDescent()) == (0.75, {})


@pytest.mark.parametrize("nesterov, weight", [(False, 1 - 5 / 16), (True, 1 - (4 + 0.5 * 5) / 16)])
def test_momentum_by_hand(nesterov, weight):
    """The accumulator 2 becomes 0.5 * 2 + 4."""
    rule = optimizers.Momentum(0.5, nesterov)
    assert applied(rule, [("w/momentum", 2.0)]) == (weight, {"w/momentum": 5.0})


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_adams_powers_are_multiplied_in_float32(dtype):
    before = [("w/m", 0.0), ("w/v", 0.0), ("beta1_power", 0.5), ("beta2_power", 0.25)]
    weight, slots = applied(optimizers.Adam(0.5, 0.25, 0.0), before, dtype=dtype)
    assert slots == {"w/m": 2.0, "w/v": 12.0, "beta1_power": 0.25, "beta2_power": 0.0625}
    # The bias-corrected moments are 4 and 16, so that the step is the learning rate.
    assert weight == pytest.approx(1 - 1 / 16, rel=1e-6)


def test_a_float64_run_has_float32s_constants():
    """As in TensorFlow 1.x, where the momentum is a float32 that is cast."""
    _, slots = applied(optimizers.Momentum(0.9), [("w/momentum", 1.0)], gradient=0.0, dtype="float64")
    assert slots["w/momentum"] == float(np.float32(0.9)) != 0.9


def test_the_slots_are_the_states_own():
    state = State(0, {}, {"w/momentum": np.float32(1.0)}, {}, {})
    rules: UpdateRules = Tf1Rules(optimizers.Momentum())
    assert rules.slots(state, lambda: 0.5) is state.slots
    assert rules.describe() == "tf1: the kernels of tf.compat.v1.train"
