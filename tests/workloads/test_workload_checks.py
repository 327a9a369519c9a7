import dataclasses

import pytest

from tests.cases import Dyadic, Everything
from tests.refusals import refusal
from workloads import optimizers, workload_checks
from workloads.selection import registry
from workloads.support.errors import InputError
from workloads.workload import Clip, InputSpec, MovingAverage


@pytest.mark.parametrize("name", registry.NAMES)
def test_the_built_in_workloads_pass(name):
    assert refusal(workload_checks.check_fields, registry.get(name)) == ""
    assert refusal(workload_checks.check_inputs, registry.get(name)) == ""


@pytest.mark.parametrize(
    "fields, says",
    [
        ({"clip": Clip("5")}, "dyadic.clip.limit: got '5', must be positive"),
        ({"clip": Clip(1.0, how="all")}, "dyadic.clip.how: got 'all'"),
        ({"moving_average": MovingAverage("0.9")}, "dyadic.moving_average.decay: got '0.9', must be a finite number"),
        ({"optimizer": optimizers.Momentum(float("inf"))}, "dyadic.optimizer.momentum: got inf"),
        ({"combine": "median"}, "dyadic.combine: got 'median', allowed: mean, sum"),
        ({"global_batch": True and 2.5}, "dyadic.global_batch: got 2.5"),
    ],
)
def test_fields_are_checked_by_their_kind(fields, says):
    with pytest.raises(InputError, match=says):
        workload_checks.check_fields(Dyadic(**fields))


@pytest.mark.parametrize(
    "inputs, says",
    [
        ({}, "a workload has at least one input"),
        ({3: InputSpec(())}, "got 3, an input's name must be a text"),
        ({"x": InputSpec((0,))}, "every size of one example must be at least 1"),
        ({"x": InputSpec((), "int", -1)}, "classes: got -1, must be at least 0"),
        ({"x": InputSpec((), "int", 2.5)}, "and classes one"),
    ],
)
def test_inputs_are_checked(inputs, says):
    workload = type("Bad", (Dyadic,), {"inputs": lambda self: inputs})()
    with pytest.raises(InputError, match=says):
        workload_checks.check_inputs(workload)


def test_a_subclass_without_fields_of_its_own_need_not_be_a_dataclass():
    same, other = type("Same", (Everything,), {}), type("Other", (Everything,), {"name": "other"})
    assert refusal(workload_checks.check_fields, same()) == ""
    assert refusal(workload_checks.check_fields, dataclasses.dataclass(frozen=True)(other)()) == ""
