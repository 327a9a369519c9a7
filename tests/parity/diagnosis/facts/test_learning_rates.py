import numpy as np
import pytest

from parity.diagnosis.facts.learning_rates import measure_learning_rates
from parity.diagnosis.stage_checks.observed_updates import learning_rate_of
from tests.parity.step_records import compared_step, learning_rates, step_record


def test_only_steps_with_one_learning_rate_on_both_sides_count():
    steps = [
        compared_step(step_record(0, learning_rate=0.5), step_record(0, learning_rate=0.25)),
        compared_step(step_record(1, learning_rate=0.5), step_record(1, learning_rate=None)),
        compared_step(step_record(2, learning_rate=(0.5, 0.25)), step_record(2, learning_rate=0.5)),
    ]
    found = measure_learning_rates(steps)
    assert found.steps == [0]
    assert (found.left[0], found.right[0]) == (0.5, 0.25)


@pytest.mark.parametrize("shown, one", [(0.5, 0.5), ((0.5, 0.5), 0.5), ((0.5, 0.25), None), (None, None), ((), None)])
def test_a_record_has_one_learning_rate_or_none(shown, one):
    assert learning_rate_of(step_record(learning_rate=shown)) == one


@pytest.mark.parametrize("gap, equal", [(0.5e-6, True), (2e-6, False)])
def test_learning_rates_are_equal_up_to_a_few_roundings(gap, equal):
    assert learning_rates([1.0, 0.5], [1.0, 0.5 * (1 + gap)]).equal is equal


def test_the_ratio_of_a_zero_learning_rate_is_not_a_number():
    ratio = learning_rates([0.5, 0.0], [1.0, 1.0]).ratio
    assert ratio[0] == 2.0
    assert np.isnan(ratio[1])


def test_a_schedule_that_counts_replicas_is_explained_by_its_factor():
    halved_every_step = [2.0**-step for step in range(8)]
    found = learning_rates(halved_every_step, [2.0 ** -(2 * step) for step in range(8)])
    assert found.explains(2)
    assert not found.explains(1)
    assert not found.explains(2, 1)


def test_a_schedule_that_is_a_step_late_is_explained_by_its_offset():
    found = learning_rates([1.0, 0.5, 0.25, 0.125], [1.0, 1.0, 0.5, 0.25])
    assert found.explains(1, -1)
    assert not found.explains(1, 1)


def test_a_slower_schedule_reads_each_of_the_lefts_steps_twice():
    assert learning_rates([1.0, 0.5, 0.25, 0.125], [1.0, 1.0, 0.5, 0.5]).explains(0.5)


def test_constant_learning_rates_explain_nothing():
    assert not learning_rates([0.5] * 4, [0.5] * 4).explains(1)
    assert not learning_rates([], []).explains(1)
