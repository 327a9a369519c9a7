"""Values of scalar inputs that an old program fed at every step."""

import doctest

import pytest

from tests.small_lift import small_plan
from workloads.lifted.plan import Input, Plan, settings
from workloads.support.errors import InputError


def plan_with_scalars():
    plan = small_plan()
    plan.common = [Input(name, "float32", [], "setting", 0, [name + ":0"], name + ":0") for name in ("keep", "scale")]
    return plan


def test_the_docstrings_examples_hold():
    assert doctest.testmod(settings).failed == 0


def test_a_lift_keeps_the_values_that_it_is_given_and_zero_is_one():
    plan = plan_with_scalars()
    settings.keep_settings(plan, {"keep": "0"})
    assert settings.kept_settings(Plan.from_json(plan.to_json())) == {"keep": "0"}
    assert settings.kept_settings(plan_with_scalars()) == {}


def test_values_are_assumed_where_none_is_given():
    assert settings.assumed_settings(plan_with_scalars(), {"keep": "0"}) == {"scale": 1.0}
    assert settings.assumed_settings(plan_with_scalars(), {}) == {"keep": 0.5, "scale": 1.0}


def test_what_an_optimizer_takes_as_its_learning_rate_is_small_whatever_its_name():
    plan = plan_with_scalars()
    plan.phases[0].effects[0].learning_rate = "scale:0"
    assert settings.assumed_settings(plan, {}) == {"keep": 0.5, "scale": 0.001}


def test_a_share_of_units_that_are_dropped_is_neither_none_nor_all_of_them():
    plan = plan_with_scalars()
    plan.common[1].is_share = True
    plan = Plan.from_json(plan.to_json())
    assert settings.assumed_settings(plan, {}) == {"keep": 0.5, "scale": 0.5}


def test_a_recorded_learning_rate_is_assumed_and_not_kept():
    plan = plan_with_scalars()
    plan.common[1].recorded = "0.25"
    plan = Plan.from_json(plan.to_json())
    assert settings.kept_settings(plan) == {}
    assert settings.assumed_settings(plan, {}) == {"keep": 0.5, "scale": 0.25}
    assert settings.assumed_settings(plan, {"scale": "2"}) == {"keep": 0.5}


@pytest.mark.parametrize("name", ["x", "no_such"])
def test_only_scalar_inputs_have_a_value(name):
    with pytest.raises(InputError) as error:
        settings.keep_settings(plan_with_scalars(), {name: "1"})
    assert str(error.value) == f"--settings: got '{name}', scalar inputs of the graph: keep, scale"
