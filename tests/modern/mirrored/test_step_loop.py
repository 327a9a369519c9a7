import numpy as np
import pytest
import tensorflow as tf

from modern.mirrored import step_loop


def counting_loop(losses=2):
    """(loop, variable): every step adds one to the variable, and its losses are 1, 2 ... times that."""
    counter = tf.Variable(0.0)

    def take_step():
        value = counter.assign_add(1.0)
        return [value * (number + 1) for number in range(losses)]

    return step_loop.trace_step_loop(take_step, losses, "float32"), counter


@pytest.mark.parametrize("steps, steps_per_call", [(1, 1), (6, 3), (7, 3), (2, 5)])
def test_so_many_steps_are_taken_and_the_last_ones_losses_returned(steps, steps_per_call):
    loop, counter = counting_loop()
    assert [float(loss) for loss in step_loop.run_steps(loop, steps, steps_per_call)] == [steps, 2.0 * steps]
    assert float(counter) == steps


@pytest.mark.parametrize("steps, steps_per_call, calls", [(7, 3, [3, 3, 1]), (6, 3, [3, 3]), (2, 5, [2])])
def test_a_call_takes_at_most_so_many_steps(steps, steps_per_call, calls):
    seen = []

    def loop(count):
        seen.append(int(count))
        return [np.float32(0.0)]

    step_loop.run_steps(loop, steps, steps_per_call)
    assert seen == calls


def test_the_loop_is_traced_once():
    traces = []

    def take_step():
        traces.append(None)
        return [tf.constant(1.0)]

    loop = step_loop.trace_step_loop(take_step, 1, "float32")
    traced = len(traces)
    step_loop.run_steps(loop, 9, 2)
    assert len(traces) == traced


def test_steps_without_losses_return_none():
    loop, counter = counting_loop(losses=0)
    assert step_loop.run_steps(loop, 3, 2) == []
    assert float(counter) == 3.0
