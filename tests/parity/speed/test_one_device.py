"""The port on one device: when the whole batch is the towers' mathematics, and the towers' records as one."""

import contextlib
import dataclasses

import numpy as np
import pytest

from parity.speed import entrants, one_device
from tests.cases import Dyadic, Everything, assert_same, records, setup
from workloads import sources
from workloads.numerics.clip_rule import Clip
from workloads.program import State, StepRecord


@pytest.mark.parametrize(
    "workload, reason",
    [
        (Dyadic(), ""),
        (dataclasses.replace(Dyadic(), clip=Clip(1.0, "combined")), ""),
        (dataclasses.replace(Dyadic(), clip=Clip(1.0, "tower")), "each tower's gradients are clipped"),
        (dataclasses.replace(Dyadic(), combine="sum"), "the towers' gradients are summed"),
        (Everything(), "batch statistics are a tower's own"),
    ],
)
def test_the_reason_to_take_the_batch_in_parts(workload, reason):
    assert one_device.reason_for_parts(setup(workload).job) == reason


@pytest.mark.parametrize(
    "changes, options, reason",
    [
        ({}, {}, ""),
        ({"parameter_servers": 1}, {}, "parameter servers are processes"),
        ({}, {"update_rules": "keras"}, "--update_rules=keras needs a strategy"),
        ({}, {"xla": True}, "XLA compiles a replica's function"),
    ],
)
def test_the_reason_why_there_is_none(changes, options, reason):
    made = dataclasses.replace(setup(Dyadic(), modern=options), **changes)
    assert one_device.reason_against(made) == reason


def test_towers_as_one_program():
    state = State(1, {}, {}, {}, {})
    record = StepRecord(
        step=0,
        digests=["a", "b"],
        losses=[np.float32(1.0), np.float32(3.0)],
        gradients=[{"w": np.float32([2.0])}, {"w": np.float32([4.0])}],
        combined={"w": np.float32([3.0])},
        learning_rate=np.float32(0.5),
        state=state,
        examples=[np.uint64([1, 2]), np.uint64([3, 4])],
    )
    whole = dataclasses.replace(
        record,
        digests=["c"],
        losses=[np.float32(2.0)],
        gradients=[{"w": np.float32([3.0])}],
        examples=[np.uint64([1, 2, 3, 4])],
    )
    view = one_device.TowersAsOne(_Nothing())
    assert_same([view.rewrite(record)], [view.rewrite(whole)])
    other = dataclasses.replace(whole, examples=[np.uint64([1, 2, 4, 3])])
    assert view.rewrite(other).digests != view.rewrite(whole).digests
    assert record.losses == [1.0, 3.0]  # the towers' own record is left alone


class _Nothing:
    side = "legacy"


@pytest.mark.parametrize("source", [sources.Synthetic, sources.Resident])
@pytest.mark.parametrize("workload", [Dyadic(), Everything()])
def test_parts_on_one_device_are_the_towers_bit_for_bit(workload, source):
    made = setup(workload, source=source)
    towers = records(made.legacy_program(), 2)
    assert_same(towers, records(one_device.one_device_program(made, in_parts=True), 2))


@pytest.mark.parametrize("source", [sources.Synthetic, sources.Resident])
def test_the_whole_batch_is_the_towers_mean(source):
    made = setup(Dyadic(), source=source)
    lone = one_device.one_device_program(made, in_parts=False)
    towers = [one_device.TowersAsOne(lone).rewrite(record) for record in records(made.legacy_program(), 2)]
    assert_same(towers, records(one_device.TowersAsOne(lone), 2))
    assert lone.describe()["reduction"] == "none, the whole batch at once"


def test_the_whole_batch_of_batch_norm_is_no_mean_and_is_recognised_by_comparison(monkeypatch):

    monkeypatch.setattr(one_device, "reason_for_parts", lambda job: "")  # as if nothing were known of the workload
    comparison = entrants.ParityCheck(2, lambda done: None)
    with contextlib.ExitStack() as stack:
        made = entrants.enter_programs(stack, setup(Everything()), "resident", comparison)
    assert [entrant.contestant.name for entrant in made] == ["legacy", "modern", "one device"]
    lone = made[2].contestant
    assert lone.note == "the batch in 2 parts: the whole batch at once is other mathematics"
    assert lone.verification.passed and not lone.problem
