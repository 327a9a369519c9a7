"""The plan of a lift, and its JSON, whose keys folders written before have."""

from __future__ import annotations

import doctest
import json

from tests.small_lift import small_plan
from workloads.lifted.plan import Condition, ControlDependency, LoopCounter, Noise, Plan, ReadVersion, TensorType
from workloads.lifted.plan import plan as plan_module


def full_plan() -> Plan:
    """A plan that has one of each record."""
    plan = small_plan()
    phase = plan.phases[0]
    phase.effects[0].condition = Condition("finite:0", True)
    phase.effects[0].around = [Condition("large:0", False)]
    phase.versions = [ReadVersion("average", "w", 1)]
    phase.control_dependencies = [ControlDependency("read", "update")]
    phase.other_control_dependencies = [[ControlDependency("update", "read")]]
    plan.noise = [Noise("u", "RandomUniform", "keyed", ["u", None], True, {"u": LoopCounter("while", "turn:0")})]
    return plan


def test_a_plan_survives_its_json_with_all_its_records():
    plan = full_plan()
    again = Plan.from_json(json.loads(json.dumps(plan.to_json())))
    assert again == plan
    assert isinstance(again.tensors["x0:0"], TensorType) and isinstance(again.phases[0].effects[0].condition, Condition)
    assert again.phases[0].effects[0].conditions == (("large:0", False), ("finite:0", True))
    assert again.phases[0].other_control_dependencies[0][0].before == "update"
    assert again.noise[0].loops["u"].counter == "turn:0"


def test_the_json_has_the_keys_and_lists_of_earlier_folders():
    content = json.loads(json.dumps(full_plan().to_json()))
    assert list(content)[:3] == ["format", "name", "about"] and content["format"] == 1
    phase = content["phases"][0]
    assert (phase["pins"], phase["other_pins"]) == ([["read", "update"]], [[["update", "read"]]])
    assert phase["versions"] == [["average", "w", 1]]
    effect = phase["effects"][0]
    assert (effect["rate"], effect["rate_at"], effect["condition"]) == ("rate:0", 0, ["finite:0", True])
    assert effect["around"] == [["large:0", False]]
    assert "around" not in small_plan().to_json()["phases"][0]["effects"][0]
    assert content["tensors"]["x0:0"] == ["float32", [2]]
    assert content["noise"][0]["loops"] == {"u": ["while", "turn:0"]}


def test_fields_that_earlier_folders_lack_have_their_defaults():
    content = small_plan().to_json()
    del content["unsafe"], content["phases"][0]["other_pins"], content["phases"][0]["members"]
    plan = Plan.from_json(content)
    assert plan.unsafe == {} and plan.phases[0].other_control_dependencies == [] and plan.phases[0].members == 0


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(plan_module).failed == 0 < doctest.testmod(plan_module).attempted
