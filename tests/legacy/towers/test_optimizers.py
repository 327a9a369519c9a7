import pytest
import tensorflow as tf

from legacy.towers.optimizers import slot_variables, tf1_optimizer
from workloads import optimizers

v1 = tf.compat.v1


def updated(optimizer):
    """(weight, {slot: value}) after one update of a weight of 1 by a gradient of 4 at the learning rate 1/16."""
    with tf.Graph().as_default(), v1.Session() as session:
        weight = v1.get_variable("w", [], initializer=v1.ones_initializer(), use_resource=True)
        tf1 = tf1_optimizer(optimizer, tf.constant(1 / 16))
        apply = tf1.apply_gradients([(tf.constant(4.0), weight)])
        slots = slot_variables(tf1, optimizer, {"w": weight})
        session.run(v1.global_variables_initializer())
        session.run(apply)
        return float(session.run(weight)), {name: float(value) for name, value in session.run(slots).items()}


def test_gradient_descent_by_hand():
    assert updated(optimizers.GradientDescent()) == (0.75, {})


@pytest.mark.parametrize("nesterov, weight", [(False, 0.75), (True, 1 - (4 + 0.5 * 4) / 16)])
def test_momentum_by_hand(nesterov, weight):
    assert updated(optimizers.Momentum(0.5, nesterov)) == (weight, {"w/momentum": 4.0})


def test_slots_and_accumulators_have_the_projects_names():
    assert updated(optimizers.Adam(0.5, 0.25))[1] == {
        "w/m": 2.0,
        "w/v": 12.0,
        "beta1_power": 0.25,
        "beta2_power": 0.0625,
    }


@pytest.mark.parametrize(
    "optimizer, slots",
    [
        (optimizers.Adagrad(0.5), {"w/accumulator": 16.5}),
        (optimizers.RMSProp(0.5, 0.0, 0.0), {"w/rms": 8.5, "w/momentum": pytest.approx(4 / 16 / 8.5**0.5, rel=1e-6)}),
    ],
    ids=repr,
)
def test_slots_start_at_the_rules_value(optimizer, slots):
    assert updated(optimizer)[1] == slots
