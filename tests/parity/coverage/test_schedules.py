"""Rates of single steps, and where a schedule jumps."""

import dataclasses

import pytest
import tensorflow as tf

from parity.coverage import schedules
from parity.coverage.schedules import RateFunction
from workloads.schedules import EpochDecay, ExponentialDecay, Fixed, PiecewiseConstant


def boundaries(schedule, global_batch=8):
    return schedules.find_boundaries(RateFunction(schedule, global_batch), schedule)


def test_a_rate_function_gives_each_steps_rate():
    rate = RateFunction(ExponentialDecay(1.0, 10, 0.5, staircase=True), 8)
    assert [float(rate(step)) for step in (-3, 0, 9, 10, 25)] == [1.0, 1.0, 1.0, 0.5, 0.25]


@pytest.mark.parametrize(
    "schedule",
    [ExponentialDecay(0.1, 7, 0.94), PiecewiseConstant((3, 20), (0.3, 0.2, 0.1)), Fixed(0.7)],
    ids=["decay", "steps", "fixed"],
)
def test_rates_that_are_looked_up_together_have_the_bits_of_single_ones(schedule):
    steps = schedules.sampled_steps([21])
    single, together = RateFunction(schedule, 8), RateFunction(schedule, 8)
    together.look_up(steps)
    together.look_up(steps)  # which are known
    tested = [*range(12), 19, 20, 21, *steps[100::40]]
    assert [together(step).tobytes() for step in tested] == [single(step).tobytes() for step in tested]
    assert together(5).dtype == "float32" and together(5).shape == ()


@pytest.mark.parametrize(
    "rates, first", [((0.5, 0.25), None), ((0.5, 0.125), 9), ((0.25, 0.25), 0)], ids=["same", "later", "at once"]
)
def test_the_first_step_of_another_rate_is_found(rates, first):
    right, other = (RateFunction(PiecewiseConstant((8,), r), 8) for r in ((0.5, 0.25), rates))
    assert right.first_difference(other, [0, 5, 8, 9, 10]) == first


@pytest.mark.parametrize(
    "schedule, expected",
    [
        (Fixed(0.5), []),
        (PiecewiseConstant((350000,), (0.1, 0.01)), [350001]),
        (PiecewiseConstant((3, 20, 777, 5000, 6000), (6.0, 5.0, 4.0, 3.0, 2.0, 1.0)), [4, 21, 778, 5001, 6001]),
        (ExponentialDecay(1.0, 40, 0.5, staircase=True), [40, 80, 120, 160]),
        (ExponentialDecay(1.0, 40, 0.5, staircase=False), []),
        (EpochDecay(1.0, epochs=1, examples_per_epoch=80, decay_rate=0.5), [10, 20, 30, 80]),
    ],
)
def test_boundaries_are_the_first_steps_of_another_rate(schedule, expected):
    assert boundaries(schedule) == expected


@dataclasses.dataclass(frozen=True)
class InverseRoot(Fixed):
    """A smooth schedule, whose float32 numbers are equal for many steps late in a training; and one real jump."""

    jump: float = 1.0
    last: int = 40_000_000

    def __call__(self, step, global_batch):
        rate = self.rate * tf.math.rsqrt(tf.cast(step + 1, tf.float32))
        return tf.where(step < self.last, rate, rate * self.jump)


def test_the_roundings_of_a_smooth_schedule_are_no_boundaries():
    assert boundaries(InverseRoot(0.2)) == []
    assert boundaries(InverseRoot(0.2, jump=0.5)) == [40_000_000]


def test_a_jump_of_a_plain_function_is_found():
    def schedule(step, global_batch):
        return tf.where(step < 4321, 0.5, 0.25)

    assert boundaries(schedule) == [4321]


def test_the_end_of_a_warm_up_is_a_boundary_where_a_number_names_it():
    @dataclasses.dataclass(frozen=True)
    class WarmUp:
        steps: int = 200

        def __call__(self, step, global_batch):
            return tf.minimum(tf.cast(step, tf.float32) / self.steps, 1.0)

    assert boundaries(WarmUp()) == [200]


def test_whole_numbers_are_found_inside():
    assert schedules.whole_numbers(PiecewiseConstant((3, 20), (0.5, 1.0, 2.0))) == {3, 20}
    assert schedules.whole_numbers(ExponentialDecay(1.0, 7, 0.5, True)) == {7}


def test_steps_are_looked_at_densely_first_and_extra_ones_too():
    steps = schedules.sampled_steps([1_000_003, -1, 2**40])
    assert steps[:64] == list(range(64)) and 1_000_003 in steps and steps[-1] >= schedules.LAST
    assert 2**40 not in steps and -1 not in steps
