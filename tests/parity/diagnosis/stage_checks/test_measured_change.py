"""The change of the weights, read from the weights or from a slot that holds it."""

import dataclasses

import numpy as np
import pytest

from parity.diagnosis.stage_checks.measured_change import MeasuredChange, measure_change
from workloads import optimizers
from workloads.optimizers import ObservedUpdate

EPS = 2.0**-23
RMSPROP = optimizers.RMSProp(momentum=0.5)


def observed(change, momentum, weight=1024.0, old=(0.0, 0.0)):
    """A step of two weights whose slot `momentum` gets these values, at a learning rate of 1/4."""
    size = len(change)
    return ObservedUpdate(
        step=0,
        learning_rate=0.25,
        names=["a", "b"],
        sizes=[1, size - 1],
        shapes=[(1,), (size - 1,)],
        gradient=np.ones(size),
        weights=np.full(size, weight),
        change=np.asarray(change),
        old={"rms": np.ones(size), "momentum": np.asarray(old)},
        new={"rms": np.ones(size), "momentum": np.asarray(momentum)},
        powers=[],
    )


def test_a_slot_shows_the_change_that_the_weight_has_rounded_away():
    measured = measure_change(observed([0.0, 0.0], [2.0**-20, -(2.0**-20)]), RMSPROP, EPS)
    assert measured.values.tolist() == [-(2.0**-20), 2.0**-20]
    assert measured.misfit(np.array([-(2.0**-20), 2.0**-20])) == 0.0
    assert measured.misfit(np.zeros(2)) == pytest.approx(2.0**20, rel=1e-3)  # the weights alone: 0 roundings
    assert measure_change(observed([0.0, 0.0], [0.0, 0.0]), RMSPROP, EPS).misfit(np.full(2, 2.0**-20)) < 0.01


def test_a_slot_may_hold_the_change_without_the_learning_rate():
    measured = measure_change(observed([-0.5, 1.0], [2.0, -4.0]), RMSPROP, EPS)
    assert measured.values.tolist() == [-0.5, 1.0]
    assert measured.unit.tolist() == pytest.approx([8 * EPS * 0.5, 8 * EPS])


def test_a_slot_that_contradicts_the_weight_is_not_believed():
    step = observed([-0.5, 1.0], [0.5, -2.0])  # the second weight moves half as far
    measured = measure_change(step, RMSPROP, EPS)
    assert measured.values.tolist() == [-0.5, 1.0]
    assert measured.unit.tolist() == pytest.approx([8 * EPS * 0.5, EPS * (1024 + 8)])


def test_a_slot_that_is_not_kept_says_nothing():
    for step in (
        observed([-0.5, 1.0], [0.0, 0.0]),
        dataclasses.replace(observed([0.0, 0.0], [1.0, 1.0]), learning_rate=0.0),
    ):
        measured = measure_change(step, RMSPROP, EPS)
        assert measured.values.tolist() == step.change.tolist()
        assert np.all(measured.unit >= 1024 * EPS)


def test_addends_that_cancel_round_by_their_own_sizes():
    measured = measure_change(observed([0.0, 0.0], [2.0**-20, 2.0**-20], old=(2.0**-10, 0.0)), RMSPROP, EPS)
    assert measured.unit[0] == pytest.approx(8 * EPS * (2.0**-10 + 2.0**-20))
    assert measured.unit[1] == pytest.approx(8 * EPS * 2.0**-20)


def test_an_optimizer_without_such_a_slot_is_read_from_its_weights():
    measured = measure_change(observed([0.0, 0.0], [2.0**-20, 1.0]), optimizers.Momentum(), EPS)
    assert measured.values.tolist() == [0.0, 0.0] and measured.unit.tolist() == [1024 * EPS] * 2


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_the_misfit_of_nothing_is_zero_and_of_no_number_infinite(value):
    assert MeasuredChange(np.zeros(0), np.zeros(0)).misfit(np.zeros(0)) == 0.0
    assert MeasuredChange(np.array([1.0, value]), np.ones(2)).misfit(np.ones(2)) == float("inf")
