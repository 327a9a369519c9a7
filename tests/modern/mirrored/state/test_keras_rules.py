import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from modern.mirrored.state.keras_rules import KerasRules, keras_class, keras_optimizer
from modern.mirrored.state.update_rules import UpdateRules
from modern.mirrored.state.variables import MirroredState
from tests.cases import Dyadic, Everything, assert_same, records, setup
from tests.marks import slow_after
from tests.modern.mirrored.state.test_tf1_rules import RULES
from workloads import optimizers, schedules
from workloads.program import State
from workloads.support.errors import InputError


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


#: Rules with constants of their own come first: `workloads/optimizers/test_a_sixth.py` has one of every class.
OWN_FIRST = sorted(RULES, key=lambda rule: rule == type(rule)() or rule == optimizers.Momentum(0.9))


@pytest.mark.parametrize("rule", slow_after(3, OWN_FIRST), ids=repr)
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


def momentum_rules(momentum=2.0):
    """(`KerasRules`, variables, `State`) of one weight of 1 with this slot in 1.x's terms."""
    state = State(1, {"w": np.float32(1.0)}, {"w/momentum": np.float32(momentum)}, {}, {})
    variables = MirroredState(tf.distribute.get_strategy(), state)
    workload = Dyadic(optimizer=optimizers.Momentum(0.5))
    return KerasRules(workload, variables, 1), variables, state


def last_rate():
    return 1 / 16


def test_momentum_by_hand():
    """1.x's accumulator 2 becomes 0.5 * 2 + 4 = 5, and the weight 1 - 5 / 16; Keras keeps minus a sixteenth of it."""
    rules, variables, state = momentum_rules()
    rules.load(state, last_rate)
    rules.apply(variables.local(0), {"w": tf.constant(4.0)}, tf.constant(1 / 16))
    assert float(variables.weights["w"]) == 1 - 5 / 16
    assert rules.slots(state, last_rate) == {"w/momentum": 5.0}


def test_loaded_slots_come_back_in_1x_terms():
    rules: UpdateRules
    rules, _, state = momentum_rules(momentum=3.0)
    rules.load(state, last_rate)
    assert rules.slots(state, last_rate) == {"w/momentum": 3.0}
    assert rules.describe().endswith("SGD; agrees to rounding, not in identical bits")


def test_adams_powers_follow_from_the_step():
    state = State(2, {"w": np.float32(1.0)}, {"w/m": np.float32(0.0), "w/v": np.float32(0.0)}, {}, {})
    variables = MirroredState(tf.distribute.get_strategy(), state)
    rules = KerasRules(Dyadic(optimizer=optimizers.Adam(0.5, 0.25)), variables, 1)
    slots = rules.slots(state, last_rate)
    assert (float(slots["beta1_power"]), float(slots["beta2_power"])) == (0.5**3, 0.25**3)


def test_constants_are_1x_and_not_keras_defaults():
    adam = keras_optimizer(keras_class(optimizers.Adam()))
    assert adam.epsilon == 1e-8
    adagrad = keras_optimizer(keras_class(optimizers.Adagrad()))
    assert (adagrad.epsilon, adagrad.initial_accumulator_value) == (0.0, 0.1)


def test_an_optimizer_without_a_keras_class_is_refused():
    @dataclasses.dataclass(frozen=True)
    class Alone(optimizers.GradientDescent):
        """Has no counterpart in Keras."""

        def keras_class(self):
            return None

    with pytest.raises(InputError, match="Alone describes no Keras class"):
        keras_class(Alone())
