"""A lift's plan is checked against its graph: the sound one passes, each wrong name, kind and length is told."""

import dataclasses

import pytest

from tests.refusals import refusal
from tests.small_lift import small_graph, small_plan
from workloads.lifted.plan import ControlDependency, Noise, ResultExchange, TensorType
from workloads.lifted.plan.plan_check import require_plan_of_graph
from workloads.support.errors import InputError


def check(plan):
    require_plan_of_graph(plan, small_graph(), "lift")


def test_the_sound_plan_passes():
    assert refusal(check, small_plan()) == ""


@pytest.mark.parametrize(
    "known, passes",
    [(None, True), ([None], True), ([2], True), ([3], False), ([None, None], False), ([], False)],
)
def test_an_input_may_have_sizes_that_its_tensors_leave_open(known, passes):
    """`set_shape` of the program told them, as of what a `cond` gives."""
    plan = small_plan()
    assert plan.inputs[0].shape == [2]
    for name in plan.inputs[0].tensors:
        plan.tensors[name] = TensorType("float32", known)
    assert (refusal(check, plan) == "") == passes


def changed(path, value):
    """The plan with the attribute at `path`, such as "phases.0.losses", changed."""
    plan = small_plan()
    place, names = plan, path.split(".")
    for name in names[:-1]:
        place = place[int(name)] if name.isdigit() else getattr(place, name)
    if isinstance(place, list):
        place[int(names[-1])] = value
    else:
        setattr(place, names[-1], value)
    return plan


@pytest.mark.parametrize(
    "path, value, message",
    [
        ("towers", "2", "towers is '2', expected int"),
        ("towers", 0, "towers is 0, expected 1 to"),
        ("towers", 10**9, "towers is 1000000000"),
        ("towers", 3, "has a row of 2, expected 3"),
        ("batch", -1, "batch is -1"),
        ("batch", 10**12, "batch is 1000000000000"),
        ("phases", [], "it has no train op"),
        ("phases", [None], r"phases\[0\] is None, expected Phase"),
        ("inputs.0.kind", "batches", "input 'x' is 'batches', allowed: batch, whole"),
        ("inputs.0.dtype", "float33", "input 'x' is of the dtype 'float33', which there is not"),
        ("inputs.0.shape", [-2], r"input 'x' has the shape \[-2\]"),
        ("inputs.0.shape", [1 << 20, 1 << 20], "too large for one step"),
        ("inputs.0.tensors", ["x0:0"] * 3, "has a row of 3"),
        ("inputs.0.tensors", ["x0:0", "nothing:0"], "names 'nothing:0', which is no tensor of the graph"),
        ("inputs.0.tensors", ["x0:0", "total:0"], "names 'total:0', whose type is not in the plan"),
        ("phases.0.exchanges", [ResultExchange([["g0:0"]], [], [])], "has a row of 1, expected 2"),
        ("phases.0.exchanges", [ResultExchange([], [["no:0"], []], [])], "names 'no:0', which is no tensor"),
        ("phases.0.exchanges", [ResultExchange([], [], [["no:0"], []])], "names 'no:0', which is no tensor"),
        ("own_batches", -1, "own_batches is -1, expected 0 to"),
        ("inputs.0.limit", -1, "has the limits 0 and -1"),
        ("inputs.0.low", -(1 << 31) - 1, "has the limits -2147483649 and 0"),
        ("inputs.0.example", [1 << 21], "has the example"),
        ("inputs.0.sparse", "words/rows", "is part 'rows' of a sparse tensor"),
        ("variables.0.role", "wait", "variable 'w' is 'wait', allowed"),
        ("variables.0.name", "v", "names 'v', which is no node"),
        ("variables.0.shape", [-1], "variable 'w' has the shape"),
        ("aliases", {"w:0": "v"}, "names 'v', which is no variable of the plan"),
        ("aliases", {"w": "w"}, "names 'w', which is no tensor"),
        ("sources", {"nothing": "x"}, "names 'nothing:0'"),
        ("tensors", dict(small_plan().tensors, **{"g0:0": TensorType("x", [])}), "of the dtype 'x'"),
        ("noise", [Noise("n", "RandomUniform", "drawn", [None, None])], "noise 'n' is 'drawn', allowed"),
        ("noise", [Noise("n", "RandomUniform", "keyed", ["g0", "nothing"])], "names 'nothing'"),
        ("phases.0.train_op", "nothing", "names 'nothing', which is no node"),
        ("phases.0.losses", ["loss0:0"], "has a row of 1"),
        ("phases.0.losses", ["loss0:0", "x:x"], "names 'x:x', which is no tensor"),
        ("phases.0.gradients", [{"w": "g0:0"}], "has a row of 1"),
        ("phases.0.crossings", [["g0:0"]], "has a row of 1"),
        ("phases.0.other_scales", [0.5], "other_scales has 1 numbers for 0 losses"),
        ("phases.0.combine.0.kind", "median", "is 'median', allowed: mean"),
        ("phases.0.combine.0.parts", [["g0:0"]], "has a row of 1"),
        ("phases.0.combine.0.tensor", "gone:0", "names 'gone:0'"),
        ("phases.0.effects.0.node", "gone", "names 'gone', which is no node"),
        ("phases.0.effects.0.op", "ApplyAdam", "'update' is no ApplyAdam"),
        ("phases.0.effects.0.writes", [], "changes nothing"),
        ("phases.0.effects.0.writes", ["v"], "names 'v', which is no variable"),
        ("phases.0.effects.0.gradient_at", 2, "'update' has no input 2"),
        ("phases.0.control_dependencies", [ControlDependency("a", "update")], "names 'a', which is no node"),
    ],
)
def test_each_wrong_entry_is_reported(path, value, message):
    with pytest.raises(InputError, match="^lift: .*" + message):
        check(changed(path, value))


def test_a_fixture_of_this_test_changes_the_plan():
    assert changed("batch", None) == dataclasses.replace(small_plan(), batch=None)
