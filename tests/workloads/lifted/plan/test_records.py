"""The small records of a plan are tuples, which JSON writes as lists."""

from __future__ import annotations

import json

import pytest

from workloads.lifted.plan.records import Condition, ControlDependency, LoopCounter, Race, ReadVersion, TensorType


def test_a_record_is_written_as_the_list_of_its_fields():
    records = [
        TensorType("float32", [None, 3]),
        LoopCounter("while", "turn:0"),
        Condition("finite:0", True),
        ReadVersion("average", "w", 1),
        ControlDependency("read", "update"),
        Race("w", "average", "update", reader="average"),
    ]
    assert json.loads(json.dumps(records)) == [
        ["float32", [None, 3]],
        ["while", "turn:0"],
        ["finite:0", True],
        ["average", "w", 1],
        ["read", "update"],
        ["w", "average", "update", "average"],
    ]


RACES = [Race("w", "read", "update", "read"), Race("w", "update", "read", "read"), Race("w", "one", "two")]


@pytest.mark.parametrize("race", RACES)
def test_races_are_read_from_their_fields_and_from_the_texts_of_the_first_lifts(race):
    assert Race.from_json(json.loads(json.dumps(race))) == race
    assert Race.from_json(race.text) == race


def test_a_read_is_before_or_after_the_update():
    assert [race.read_is for race in RACES] == ["before", "after", ""]
    assert RACES[2].text == "w: changed by one and two in any order"
