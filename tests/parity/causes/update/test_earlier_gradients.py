"""Updates by gradients of earlier steps: a weight that loses each gradient it is given, at a learning rate of one."""

from types import SimpleNamespace

import pytest
import tensorflow as tf

from parity.causes.update.earlier_gradients import FEWER, OLDEST, ZEROS, Reading, earlier_gradients
from tests.parity.causes.stub_step import SubtractGradients, local_state


def read_gradients(reading, start, gradients, steps=None):
    """The gradient that each update reads; `steps` are the steps' numbers."""
    (wrap,) = earlier_gradients(reading, start).rules
    rules, local = wrap(SubtractGradients()), local_state(0, {"w": 0.0})
    rules.prepare(SimpleNamespace(local=lambda replica: local), 1)
    read = []
    for step, gradient in zip(steps or range(len(gradients)), gradients):
        local.step.assign(step)
        before = float(local.weights["w"])
        rules.apply(local, {"w": tf.constant(gradient)}, tf.constant(1.0))
        read.append(before - float(local.weights["w"]))
    return read


GRADIENTS = [4.0, 8.0, 16.0, 32.0]


@pytest.mark.parametrize(
    "reading, start, expected",
    [
        (Reading(1, 1), ZEROS, [0.0, 4.0, 8.0, 16.0]),
        (Reading(1, 1), OLDEST, [4.0, 4.0, 8.0, 16.0]),
        (Reading(2, 1), ZEROS, [0.0, 0.0, 4.0, 8.0]),
        (Reading(0, 2), ZEROS, [2.0, 6.0, 12.0, 24.0]),
        (Reading(0, 2), OLDEST, [4.0, 6.0, 12.0, 24.0]),
        (Reading(0, 4), ZEROS, [1.0, 3.0, 7.0, 15.0]),
        (Reading(0, 4), FEWER, [4.0, 6.0, 28.0 / 3, 15.0]),
    ],
)
def test_an_update_reads_gradients_of_earlier_steps(reading, start, expected):
    assert read_gradients(reading, start, GRADIENTS) == pytest.approx(expected, rel=1e-6)


def test_a_run_that_goes_on_from_another_step_has_no_earlier_gradients():
    assert read_gradients(Reading(1, 1), ZEROS, GRADIENTS, steps=[0, 1, 7, 8]) == [0.0, 4.0, 0.0, 16.0]
    assert read_gradients(Reading(1, 1), ZEROS, GRADIENTS, steps=[0, 1, 0, 1]) == [0.0, 4.0, 0.0, 16.0]
