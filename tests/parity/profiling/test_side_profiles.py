"""Profiles of both sides of small jobs: each computes, and is timed beside the floor where there is one."""

import pytest

from parity.profiling.op_kinds import PRODUCTS
from parity.profiling.side_profiles import ProfilePlan, profile_sides
from tests import old_programs
from tests.cases import Dyadic, Everything, setup

PLAN = ProfilePlan(steps=2, rounds=2, seconds=0.01)


@pytest.fixture(scope="module")
def profiles():
    shown = []
    profiles = profile_sides(setup(Everything()), PLAN, lambda text, done, total: shown.append((text, done, total)))
    assert ("profile of modern", 1, 2) in shown and shown[-1] == ("timing, rounds", 2, 2)
    return profiles


@pytest.mark.parametrize("side", ["legacy", "modern"])
def test_each_side_computes_on_both_devices(profiles, side):
    profile = profiles.sides[side].profile
    assert [device.device for device in profile.devices] == ["CPU:0", "CPU:1"]
    assert all(device.computing > 0 for device in profile.devices)
    assert {PRODUCTS, "optimizer", "element-wise"} <= set(profile.kinds)
    assert profile.ops["MatMul" if "MatMul" in profile.ops else "_MklMatMul"] > 0


def test_the_floor_is_that_of_all_towers_products(profiles):
    assert profiles.products == 2 * 5  # two layers, forward and both gradients, but for the gradient of the input
    assert profiles.floor > 0 and all(side.above_floor.median > 0 for side in profiles.sides.values())
    entry = profiles.to_json()
    assert entry["floor"] == {"products": 10, "seconds": profiles.floor, "unknown": ""}
    assert entry["sides"]["modern"]["times_floor"]["low"] <= entry["sides"]["modern"]["times_floor"]["high"]


def test_a_job_without_products_has_no_floor():
    profiles = profile_sides(setup(Dyadic()), PLAN, lambda text, done, total: None)
    assert (profiles.floor, profiles.products) == (None, 0)
    assert profiles.no_floor == "the graph has no convolution and no matrix product"
    assert profiles.sides["legacy"].above_floor is None and profiles.sides["legacy"].seconds > 0


@pytest.mark.slow
def test_a_lift_is_profiled():
    profiles = profile_sides(old_programs.setup("j_dataset_resource"), PLAN, lambda text, done, total: None)
    assert all(side.profile.kinds[PRODUCTS] > 0 for side in profiles.sides.values())
