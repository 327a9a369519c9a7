"""Optimizers of lifts: their constants, slots and steps, read from the old graph's updates."""

from __future__ import annotations

import numpy as np
import pytest

from modern.keras_models.optimizer_state import MANY, optimizer_state
from tests import old_programs
from workloads import optimizers
from workloads.support.errors import InputError


def job_and_state(name):
    job = old_programs.setup(name).job
    return job, job.workload.initial_state()


def test_momentum_of_a_lift():
    job, state = job_and_state("d_batch_norm")
    found = optimizer_state(job, state)
    assert found.optimizer == optimizers.Momentum(0.9, nesterov=True) and set(found.slots) == set(state.weights)
    np.testing.assert_array_equal(found.slots["fc/bias"]["momentum"], state.slots["fc/bias/Momentum"])


def test_adams_steps_are_counted_by_the_powers_of_its_constants():
    job, state = job_and_state("b_adam_clip")
    found = optimizer_state(job, state)
    assert isinstance(found.optimizer, optimizers.Adam) and found.optimizer.epsilon == pytest.approx(1e-8)
    assert set(found.slots["model/out/kernel"]) == {"m", "v"} and found.iterations == 0
    powers = {name: np.float32(base**8) for name, base in (("beta1_power", 0.9), ("beta2_power", 0.999))}
    for arrays in (state.slots, state.statistics):
        arrays.update((name, value) for name, value in powers.items() if name in arrays)
    assert optimizer_state(job, state).iterations == 7
    for arrays in (state.slots, state.statistics):
        arrays.update((name, np.float32(0)) for name in powers if name in arrays)
    assert optimizer_state(job, state).iterations == MANY


def test_train_ops_in_turn_are_refused():
    with pytest.raises(InputError, match="--export_keras: the lift runs 2 train ops in turn"):
        optimizer_state(*job_and_state("l_gan"))
