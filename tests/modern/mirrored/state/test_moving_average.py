import pytest
import tensorflow as tf

from modern.mirrored.state.moving_average import update_moving_averages
from modern.mirrored.state.variables import LocalState
from workloads.workload import MovingAverage


def averaged(rule, step):
    """The average after one update, from 4 towards a weight of 8."""
    average = tf.Variable(4.0)
    local = LocalState(0, tf.Variable(step, dtype=tf.int64), {"w": tf.Variable(8.0)}, {}, {}, {"w": average})
    update_moving_averages(rule, local)
    return float(average)


def test_an_average_moves_by_one_minus_decay():
    assert averaged(MovingAverage(0.75, warm_up=False), step=0) == 5.0


@pytest.mark.parametrize("step, expected", [(2, 7.0), (6, 8.0 - 4.0 * 7 / 16), (10**6, 6.0)])
def test_the_decay_warms_up_with_the_number_of_updates(step, expected):
    """The decay is (1 + n) / (10 + n): a quarter after two updates, 7/16 after six, and at most the rule's half."""
    assert averaged(MovingAverage(0.5), step) == expected
