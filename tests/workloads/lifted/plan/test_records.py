"""The small records of a plan are tuples, which JSON writes as lists."""

from __future__ import annotations

import json

from workloads.lifted.plan.records import Condition, ControlDependency, LoopCounter, ReadVersion, TensorType


def test_a_record_is_written_as_the_list_of_its_fields():
    records = [
        TensorType("float32", [None, 3]),
        LoopCounter("while", "turn:0"),
        Condition("finite:0", True),
        ReadVersion("average", "w", 1),
        ControlDependency("read", "update"),
    ]
    assert json.loads(json.dumps(records)) == [
        ["float32", [None, 3]],
        ["while", "turn:0"],
        ["finite:0", True],
        ["average", "w", 1],
        ["read", "update"],
    ]
