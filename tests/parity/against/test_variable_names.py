"""Correspondence of variables: names, slots by the update op, and what is on one side only."""

import doctest

import numpy as np
import pytest

from parity.against import variable_names
from parity.against.counters import Counter
from parity.against.variable_names import match_variables
from tests.cases import Dyadic
from tests.small_lift import small_plan
from workloads import optimizers
from workloads.lifted.plan import Variable
from workloads.support.errors import InputError
from workloads.variable_spec import VariableSpec
from workloads.workload import MovingAverage


def spec(name, shape=(), trainable=True):
    return VariableSpec(name, shape, "float32", trainable, None)


def plan_with(*variables):
    plan = small_plan()
    plan.variables += [Variable(*variable) for variable in variables]
    return plan


def adam_plan():
    slots = [("b/beta1_power_1", [], "float32", "slot"), ("b/beta2_power", [], "float32", "slot")]
    plan = plan_with(*slots, ("w/one", [], "float32", "slot", "w"), ("w/two", [], "float32", "slot", "w"))
    plan.phases[0].effects[0].writes = ["w", "w/two", "w/one"]
    return plan


def test_the_docstrings_examples_hold():
    assert doctest.testmod(variable_names).failed == 0


def test_slots_come_in_the_update_ops_order():
    names = match_variables(adam_plan(), (), Dyadic(optimizer=optimizers.Adam()), [spec("w")])
    assert names.slots == {
        "w/m": "w/two",
        "w/v": "w/one",
        "beta1_power": "b/beta1_power_1",
        "beta2_power": "b/beta2_power",
    }


def test_slots_of_a_hand_written_update_come_in_the_graphs_order():
    plan = adam_plan()
    plan.phases[0].effects[0].writes = ["w"]
    names = match_variables(plan, (), Dyadic(optimizer=optimizers.Adam()), [spec("w")])
    assert (names.slots["w/m"], names.slots["w/v"]) == ("w/one", "w/two")


def test_averages_belong_to_their_weight():
    plan = plan_with(("w/Average", [], "float32", "average", "w"))
    assert match_variables(plan, (), Dyadic(moving_average=MovingAverage()), [spec("w")]).averages == {"w": "w/Average"}


@pytest.mark.parametrize(
    "workload, specs, plan, message",
    [
        (Dyadic(), [spec("v")], small_plan(), "the old graph has no 'v'; the port has no 'w' (weight)"),
        (Dyadic(), [spec("w", (2,))], small_plan(), "'w' is [] in the old graph and [2] in the port"),
        (Dyadic(), [spec("w")], plan_with(("s", [], "float32", "statistic")), "the port has no 's' (statistic)"),
        (Dyadic(optimizer=optimizers.Momentum()), [spec("w")], small_plan(), "the old graph has no 'w/momentum'"),
        (Dyadic(moving_average=MovingAverage()), [spec("w")], small_plan(), "the old graph has no 'w'"),
        (Dyadic(), [spec("w")], plan_with(*((f"s{i}", [], "float32", "state") for i in range(8))), " and 2 more"),
    ],
)
def test_what_is_on_one_side_only_is_named(workload, specs, plan, message):
    with pytest.raises(InputError) as error:
        match_variables(plan, (), workload, specs)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_counters_are_no_variables_of_the_port():
    plan = plan_with(("step", [], "int64", "statistic"))
    names = match_variables(plan, [Counter("step", 1)], Dyadic(), [spec("w")])
    state = names.port_state(4, {"w": np.float32(2), "step": np.int64(4)})
    assert (state.step, state.weights, state.statistics) == (4, {"w": 2.0}, {})
    assert names.old_values(state) == {"w": 2.0, "step": 4}


@pytest.mark.parametrize("value, dtype", [([3, -(2**24)], "float32"), ([3, 2**24 + 1], "int32")])
def test_whole_numbers_are_floats_in_a_port_where_these_have_their_values(value, dtype):
    names = match_variables(
        plan_with(("n", [2], "int32", "statistic")), (), Dyadic(), [spec("w"), spec("n", (2,), False)]
    )
    found = names.port_state(0, {"w": np.float32(2), "n": np.array(value, np.int32)}).statistics["n"]
    assert found.dtype == dtype and found.tolist() == value


def test_a_counter_that_does_not_count_steps_is_refused():
    plan = plan_with(("step", [], "int64", "statistic"))
    names = match_variables(plan, [Counter("step", 1)], Dyadic(), [spec("w")])
    with pytest.raises(InputError, match="'step' of the old graph is 5 after step 3, and not 4"):
        names.port_state(4, {"w": np.float32(2), "step": np.int64(5)})


def test_spare_variables_keep_their_value():
    plan = plan_with(("rate", [], "float32", "statistic"))
    names = match_variables(plan, (), Dyadic(), [spec("w")], {"rate": np.float32(0.5), "w": np.float32(9)})
    assert names.spare == {"rate": 0.5}
    assert names.old_values(names.port_state(0, {"w": np.float32(2)})) == {"w": 2.0, "rate": 0.5}
