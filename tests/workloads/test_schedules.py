import numpy as np
import pytest
import tensorflow as tf

from workloads import schedules


@pytest.mark.parametrize(
    "schedule, expected",
    [
        (schedules.Fixed(0.5), {0: 0.5, 100: 0.5}),
        (schedules.ExponentialDecay(1.0, 10, 0.25, staircase=True), {0: 1.0, 9: 1.0, 10: 0.25, 20: 0.0625}),
        (schedules.ExponentialDecay(1.0, 2, 0.25), {0: 1.0, 1: 0.5, 2: 0.25}),
        (schedules.PiecewiseConstant((2, 4), (1.0, 0.5, 0.25)), {0: 1.0, 2: 1.0, 3: 0.5, 4: 0.5, 5: 0.25}),
    ],
)
def test_rates(schedule, expected):
    for step, rate in expected.items():
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            seen = session.run(schedule(tf.constant(step, tf.int64), 1))
        assert seen.dtype == np.float32
        assert seen == np.float32(rate)


def test_epochs_count_the_examples_of_all_towers():
    schedule = schedules.EpochDecay(1.0, epochs=2, examples_per_epoch=100, decay_rate=0.5)
    for global_batch, knee in ((10, 20), (20, 10)):
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            rates = [session.run(schedule(tf.constant(s, tf.int64), global_batch)) for s in (knee - 1, knee)]
        assert rates == [1.0, 0.5]
