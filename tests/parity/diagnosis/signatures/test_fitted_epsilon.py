import dataclasses

import numpy as np
import pytest

from parity.diagnosis.signatures.fitted_epsilon import (
    EpsilonSample,
    FittedEpsilon,
    fit_epsilon,
    fit_port_epsilon,
    misfit_of_epsilon,
    misfit_of_smaller,
    smaller_fits_too,
)
from parity.diagnosis.stage_checks.measured_change import measure_change
from tests.parity.step_records import made_up_evidence
from workloads import optimizers
from workloads.optimizers import ObservedUpdate

RNG = np.random.RandomState(1)
EPS = 2.0**-23


def observed(optimizer, place, epsilon, steps=3, size=200):
    """Steps of an optimizer whose epsilon stands in a place, with gradients of all sizes."""
    updates = []
    for step in range(steps):
        gradient = RNG.normal(size=size) * 10.0 ** RNG.uniform(-9, 0, size)
        new = {"m": gradient, "v": gradient**2, "rms": gradient**2, "accumulator": gradient**2}
        update = ObservedUpdate(
            step=step,
            learning_rate=0.01,
            names=["w"],
            sizes=[size],
            shapes=[(size,)],
            gradient=gradient,
            weights=np.zeros(size),
            change=np.zeros(size),
            old=dict.fromkeys(["m", "v", "rms", "momentum", "accumulator"], np.zeros(size)),
            new=new,
            powers=[0.9 ** (step + 1), 0.999 ** (step + 1)],
        )
        formula = optimizer.epsilon_places()[place].formula
        updates.append(dataclasses.replace(update, change=formula(update, epsilon)))
    return updates


@pytest.mark.parametrize(
    "optimizer, place, name",
    [
        (optimizers.Adam(), 0, ""),
        (optimizers.Adam(), 1, "after the bias correction"),
        (optimizers.Adam(), 2, "inside the root"),
        (optimizers.RMSProp(), 0, ""),
        (optimizers.RMSProp(), 1, "outside the root"),
        (optimizers.Adagrad(), 0, "outside the root"),
        (optimizers.Adagrad(), 1, "inside the root"),
    ],
)
def test_any_epsilon_is_fitted_with_its_place(optimizer, place, name):
    fit = fit_epsilon(observed(optimizer, place, 3e-6), optimizer, EPS)
    assert fit.place == name
    assert fit.epsilon == pytest.approx(3e-6, rel=1e-3)
    assert fit.misfit < 1


def test_another_rule_is_fitted_badly():
    updates = [dataclasses.replace(u, change=2 * u.change) for u in observed(optimizers.Adam(), 0, 1e-8)]
    assert not fit_epsilon(updates, optimizers.Adam(), EPS).misfit < 1000


def test_what_is_not_finite_fits_nothing():
    updates = [dataclasses.replace(u, change=u.change * np.nan) for u in observed(optimizers.Adam(), 0, 1e-8)]
    assert fit_epsilon(updates, optimizers.Adam(), EPS) is None
    place = optimizers.Adam().epsilon_places()[0]
    samples = [EpsilonSample(update, measure_change(update, optimizers.Adam(), EPS)) for update in updates]
    assert misfit_of_epsilon(samples, place, 1e-8) == float("inf")


def test_an_optimizer_without_an_epsilon_has_no_fit():
    assert fit_epsilon(observed(optimizers.Adam(), 0, 1e-8), optimizers.Momentum(), EPS) is None
    assert fit_port_epsilon(made_up_evidence()) is None


@pytest.mark.parametrize("epsilon, leaves_no_trace", [(1e-18, True), (1e-4, False)])
def test_an_epsilon_far_below_all_gradients_leaves_no_trace_of_its_value(epsilon, leaves_no_trace):
    adam = optimizers.Adam()
    found = misfit_of_smaller(observed(adam, 0, epsilon), adam, FittedEpsilon("", epsilon, 0.0), EPS)
    assert (found < 1.0) is leaves_no_trace


def test_nothing_is_said_of_smaller_epsilons_without_updates():
    assert misfit_of_smaller([], optimizers.Adam(), FittedEpsilon("", 1e-8, 0.0), EPS) == float("inf")
    assert not smaller_fits_too(made_up_evidence([]), FittedEpsilon("", 1e-8, 0.0), 20.0)
