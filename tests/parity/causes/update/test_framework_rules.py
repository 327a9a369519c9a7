import pytest
import tensorflow as tf

from parity.causes.update import framework_rules
from tests.parity.causes.stub_step import SubtractGradients, local_state, values_of
from workloads import optimizers


class OneReplica:
    """The mirrored variables of one replica."""

    def __init__(self, local):
        self._local = local

    def local(self, replica):
        return self._local


class Rules(SubtractGradients):
    """Healthy rules of an optimizer."""

    optimizer = None


def two_steps(change, optimizer, slots, gradients=(2.0, 4.0), rate=0.5):
    """[(weight, slots)] after each of two steps of one weight that starts at 1, by a change of the rules."""
    (wrap,) = change.rules
    healthy = Rules()
    healthy.optimizer = optimizer
    local = local_state(0, {"w": [1.0]}, {f"w/{name}": [value] for name, value in slots.items()})
    rules = wrap(healthy)
    rules.prepare(OneReplica(local), 1)
    seen = []
    for gradient in gradients:
        rules.apply(local, {"w": tf.constant([gradient])}, tf.constant(rate))
        local.step.assign_add(1)
        slots = {name[2:]: value[0] for name, value in values_of(local.slots).items()}
        seen.append((values_of(local.weights)["w"][0], slots))
    return seen


def test_dampening_spares_the_first_step_unless_told():
    rule = optimizers.Momentum(0.5)
    spared = two_steps(framework_rules.momentum(0.75), rule, {"momentum": 0.0})
    assert spared == [(0.0, {"momentum": 2.0}), (-1.0, {"momentum": 2.0})]
    damped = two_steps(framework_rules.momentum(0.75, first_damped=True), rule, {"momentum": 0.0})
    assert damped == [(0.75, {"momentum": 0.5}), (0.125, {"momentum": 1.25})]


def test_adagrad_has_an_epsilon_beside_or_inside_the_root():
    rule = optimizers.Adagrad()
    assert two_steps(framework_rules.adagrad(epsilon=2.0), rule, {"accumulator": 0.0}, (2.0,))[0][0] == 0.75
    assert two_steps(framework_rules.adagrad(inside=12.0), rule, {"accumulator": 0.0}, (2.0,))[0][0] == 0.75


def test_amsgrad_divides_by_the_largest_second_moment():
    rule = optimizers.Adam(beta1=0.0, beta2=0.0, epsilon=0.0)
    plain = two_steps(framework_rules.adam(correct=(False, False)), rule, {"m": 0.0, "v": 0.0}, (4.0, 2.0))
    largest = two_steps(
        framework_rules.adam(amsgrad=True, correct=(False, False)), rule, {"m": 0.0, "v": 0.0}, (4.0, 2.0)
    )
    assert [weight for weight, _ in plain] == [0.5, 0.0]
    assert [weight for weight, _ in largest] == [0.5, 0.25]
    assert largest[1][1]["v"] == 4.0


def test_adam_corrects_one_moment_and_adds_epsilon_after_it():
    rule = optimizers.Adam(beta1=0.5, beta2=0.75, epsilon=0.0)
    start = {"m": 0.0, "v": 0.0}
    assert two_steps(framework_rules.adam(correct=(True, False)), rule, start, (2.0,))[0][0] == 1 - 0.5 * 2 / 1
    assert two_steps(framework_rules.adam(corrected_epsilon=2.0), rule, start, (2.0,))[0][0] == 1 - 0.5 * 2 / 4


def test_rmsprop_is_centered_and_keeps_the_rate_outside_of_its_slot():
    rule = optimizers.RMSProp(decay=0.5, momentum=0.5, epsilon=0.0)
    start = {"rms": 0.0, "momentum": 0.0}
    centered = two_steps(framework_rules.rmsprop(centered=True), rule, start, (2.0,))[0]
    assert centered == (0.0, {"rms": 2.0, "momentum": 1.0})  # 2 - 1**2 = 1 under the root
    outside = two_steps(
        framework_rules.rmsprop(rate_outside=True, outside=0.0), rule, {"rms": 4.0, "momentum": 2.0}, (2.0,)
    )
    assert outside[0] == (1 - 0.5 * 2.0, {"rms": 4.0, "momentum": 2.0})


def test_a_coupled_decay_changes_the_gradient_that_the_rules_get():
    (wrap,) = framework_rules.coupled_decay(0.5).rules
    local = local_state(0, {"w": [4.0]}, {})
    wrap(SubtractGradients()).apply(local, {"w": tf.constant([2.0])}, 0.25)
    assert values_of(local.weights) == {"w": [pytest.approx(3.0)]}
