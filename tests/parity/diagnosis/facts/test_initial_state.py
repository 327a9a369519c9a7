import numpy as np
import pytest

from parity.diagnosis.facts.initial_state import compare_initial_states
from tests.parity.step_records import made_up_state


def test_equal_states_have_no_differences():
    state = made_up_state(slots={"w/m": [0.0, 0.0]}, statistics={"mean": [1.0]}, averages={"w": [1.0, 2.0]})
    found = compare_initial_states(state, state)
    assert (found.weights, found.slots, found.reset, found.reset_to, found.other) == ([], {}, [], {}, [])


def test_a_weight_that_differs_has_a_factor_and_a_ratio_of_spreads():
    left, right = made_up_state({"w": [1.0, 3.0], "b": [1.0]}), made_up_state({"w": [2.0, 6.0], "b": [1.0]})
    (weight,) = compare_initial_states(left, right).weights
    assert (weight.name, weight.size, weight.fit, weight.std_ratio) == ("w", 2, (2.0, 0.0), 2.0)


def test_a_weight_of_one_value_has_no_spread_to_compare():
    (weight,) = compare_initial_states(made_up_state({"w": [1.0, 1.0]}), made_up_state({"w": [0.0, 2.0]})).weights
    assert np.isnan(weight.std_ratio)


def test_slots_that_start_from_another_constant_are_listed_by_kind():
    left, right = made_up_state(slots={"w/rms": [1.0, 1.0]}), made_up_state(slots={"w/rms": [0.0, 0.0]})
    found = compare_initial_states(left, right)
    assert found.slots == {"rms": (1.0, 0.0)}
    assert found.reset == []


@pytest.mark.parametrize("values, step", [([1.0, 2.0], 0), ([1.0, 1.0], 3)])
def test_trained_slots_that_the_right_has_as_a_constant_were_reset(values, step):
    left = made_up_state(slots={"w/m": values}, step=step)
    found = compare_initial_states(left, made_up_state(slots={"w/m": [0.0, 0.0]}))
    assert found.reset == ["w/m"]
    assert found.reset_to == {"m": 0.0}
    assert found.slots == {}
    assert found.step == step


def test_other_differences_are_slots_of_many_values_statistics_and_averages():
    left = made_up_state(slots={"w/m": [1.0, 2.0]}, statistics={"mean": [0.0]}, averages={"w": [0.0, 0.0]})
    right = made_up_state(slots={"w/m": [2.0, 1.0]}, statistics={"mean": [1.0]}, averages={"w": [0.0, 1.0]})
    found = compare_initial_states(left, right)
    assert found.other == ["w/m", "mean", "w"]


def test_variables_of_one_side_alone_are_not_compared():
    left = made_up_state({"w": [1.0], "a": [1.0]}, slots={"a/m": [1.0]}, statistics={"mean": [1.0]})
    found = compare_initial_states(left, made_up_state({"w": [1.0]}))
    assert (found.weights, found.slots, found.reset, found.other) == ([], {}, [], [])
