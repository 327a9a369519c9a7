import pytest
import tensorflow as tf

from legacy.towers.stale_updates import build_stale_updates
from tests.cases import Dyadic
from workloads.job import Job

v1 = tf.compat.v1


def run_steps(staleness, steps):
    """(weight after each step, waiting gradients after each, `StaleUpdates`) of two towers with gradients 1 and 2.

    The weight starts at 0, and the learning rate is 1.
    """
    job = Job(Dyadic(), 2, 4, staleness=staleness)
    with tf.Graph().as_default(), v1.Session() as session:
        weight = v1.get_variable("w", [], initializer=v1.zeros_initializer(), use_resource=True)
        step = v1.get_variable("step", [], tf.int64, v1.zeros_initializer(), use_resource=True)
        gradients = [{"w": tf.constant(1.0)}, {"w": tf.constant(2.0)}]
        built = build_stale_updates(job, v1.train.GradientDescentOptimizer(1.0), gradients, {"w": weight}, step)
        session.run(v1.global_variables_initializer())
        weights, waiting = [], []
        for number in range(steps):
            session.run(built.ops[min(2, max(0, staleness - 2 * number))])
            weights.append(float(session.run(weight)))
            waiting.append([list(values) for values in session.run(list(built.slots.values()))])
        assert session.run(step) == steps
    return weights, waiting, built


@pytest.mark.parametrize(
    "staleness, weights",
    [(0, [-3, -6, -9]), (1, [-1, -4, -7]), (2, [0, -3, -6]), (3, [0, -1, -4])],
)
def test_every_gradient_is_applied_so_many_updates_late(staleness, weights):
    assert run_steps(staleness, 3)[0] == weights


def test_the_gradients_that_wait_are_kept_oldest_first():
    assert run_steps(3, 2)[1] == [[[0.0, 1.0, 2.0]], [[2.0, 1.0, 2.0]]]


@pytest.mark.parametrize("staleness, missing", [(0, [0]), (1, [0, 1]), (2, [0, 2]), (3, [0, 1, 2])])
def test_there_is_an_op_for_each_number_of_updates_without_a_gradient(staleness, missing):
    assert sorted(run_steps(staleness, 1)[2].ops) == missing


def test_nothing_waits_without_staleness():
    built = run_steps(0, 1)[2]
    assert built.slots == {} and list(built.applied) == ["update 0: w", "update 1: w"]
