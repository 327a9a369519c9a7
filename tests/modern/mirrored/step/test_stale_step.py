"""Asynchronous updates in a fixed order: by hand, and the same bits on both sides."""

import dataclasses

import numpy as np
import pytest

from modern.mirrored.step.stale_step import StaleStep
from tests.cases import Dyadic, Everything, assert_same, records, setup
from tests.marks import slow_after
from workloads import optimizers
from workloads.workload import MovingAverage

RATE = 2.0**-4
SIDES = ("legacy_program", "modern_program")


def stale(workload, staleness, replicas=2):
    """A `Setup` with `staleness`."""
    made = setup(workload, replicas)
    return dataclasses.replace(made, job=dataclasses.replace(made.job, staleness=staleness))


@pytest.mark.parametrize("side", SIDES)
def test_at_zero_it_is_the_synchronous_sum_applied_in_order(side):
    first = records(getattr(stale(Dyadic(), 0), side)(), 1)[0]
    gradients = [float(replica["a"]) for replica in first.gradients]
    assert gradients == [3.0, 11.0]  # b = 2 times the means 1.5 and 5.5 of the replicas' x
    assert float(first.state.weights["a"]) == 1.0 - RATE * 3.0 - RATE * 11.0
    summed = records(getattr(setup(dataclasses.replace(Dyadic(), combine="sum")), side)(), 1)[0]
    assert float(summed.state.weights["a"]) == float(first.state.weights["a"])


@pytest.mark.parametrize(
    "side, staleness",
    slow_after(
        4,
        [(SIDES[number % 2], staleness) for number, staleness in enumerate((1, 2, 3, 5))]
        + [(SIDES[1 - number % 2], staleness) for number, staleness in enumerate((1, 2, 3, 5))],
    ),
)
def test_update_number_u_applies_gradient_number_u_minus_staleness(side, staleness):
    seen = records(getattr(stale(Dyadic(), staleness), side)(), 5)
    made = [float(replica["a"]) for record in seen for replica in record.gradients]
    weight = 1.0
    for number, record in enumerate(seen):
        for place in range(2):
            source = 2 * number + place - staleness
            applied = float(record.combined[f"update {place}: a"])
            assert applied == (made[source] if source >= 0 else 0.0)
            weight = float(np.float32(weight - RATE * applied))
        assert float(record.state.weights["a"]) == weight


@pytest.mark.parametrize("replicas, staleness", slow_after(2, [(1, 2), (4, 3), (2, 1), (3, 7)]))
def test_both_sides_have_the_same_bits(replicas, staleness):
    workload = dataclasses.replace(
        Everything(), optimizer=optimizers.Adam(), moving_average=MovingAverage(0.9), global_batch=12
    )
    made = stale(workload, staleness, replicas)
    assert_same(records(made.legacy_program(), 6), records(made.modern_program(), 6))


def test_another_staleness_is_another_training():
    one, other = (records(stale(Everything(), staleness).modern_program(), 3)[-1] for staleness in (1, 2))
    name = next(iter(one.state.weights))
    assert one.state.weights[name].tobytes() != other.state.weights[name].tobytes()


def test_no_slot_moves_before_there_is_a_gradient():
    workload = dataclasses.replace(Everything(), optimizer=optimizers.Adam())
    first = records(stale(workload, 2).modern_program(), 1)[0]
    assert first.state.slots["beta1_power"] == np.float32(workload.optimizer.beta1)


def test_many_steps_in_a_call_are_the_steps_one_by_one():
    made = stale(Everything(), 3)
    last = records(made.modern_program(), 7)[-1]
    for side in (made.modern_program, made.legacy_program):
        with side() as program:
            program.run(7)
            state = program.state()
        assert state.step == 7
        for name, value in last.state.slots.items():
            assert state.slots[name].tobytes() == value.tobytes(), name


def test_it_goes_on_from_a_state_in_which_gradients_wait():
    made = stale(Everything(), 3)
    with made.modern_program() as program:
        assert isinstance(program._replica_step, StaleStep)
        program.run(2)
        state = program.state()
        rest = [program.step() for _ in range(3)]
    with made.legacy_program() as program:
        program.load(state)
        assert_same(rest, [program.step() for _ in range(3)])
