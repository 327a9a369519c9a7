"""Correspondence of inputs, and what is on one side only."""

import pytest

from parity.against.input_names import match_inputs, with_port_shapes
from tests.small_lift import small_plan
from workloads.lifted.plan import Input
from workloads.support.errors import InputError
from workloads.workload import InputSpec

KEEP = Input("keep", "float32", [], "setting", 0, ["keep:0"], "keep:0")
LABELS = Input("queue__1", "int64", [2], "batch", 0, ["q0:1", "q1:1"], "q:1")


def plan_with(*inputs):
    plan = small_plan()
    plan.inputs += inputs
    return plan


def test_inputs_correspond_by_name_or_as_the_only_ones_of_their_shape():
    specs = {"x": InputSpec(()), "labels": InputSpec((), "int", 3)}
    assert match_inputs(plan_with(LABELS), specs, {}) == {"x": "x", "labels": "queue__1"}
    assert match_inputs(plan_with(KEEP), {"x": InputSpec(())}, {"keep": 0.5}) == {"x": "x"}


@pytest.mark.parametrize(
    "plan, specs, message",
    [
        (plan_with(LABELS), {"x": InputSpec(())}, "the port has no 'queue__1'"),
        (plan_with(), {"x": InputSpec(()), "y": InputSpec(())}, "the old graph has no 'y'"),
        (plan_with(), {"x": InputSpec((3,))}, "'x' is float [3] and in the old graph float32 [2]"),
        (plan_with(), {"x": InputSpec((), "int", 3)}, "'x' is int [] and in the old graph float32 [2]"),
        (plan_with(KEEP), {"x": InputSpec(())}, "give its value by --settings=keep=..."),
        (plan_with(LABELS), {"x": InputSpec(()), "a": InputSpec((), "int"), "b": InputSpec((), "int")}, "has no 'a'"),
        (
            plan_with(Input("all", "float32", [4], "same", 0, ["all:0"], "all:0")),
            {"x": InputSpec(()), "all": InputSpec(())},
            "'all' is float [] and in the old graph float32 [4]",
        ),
        (
            plan_with(Input("all", "float32", [None], "same", 0, ["all:0"], "all:0")),
            {"x": InputSpec(()), "all": InputSpec(())},
            "'all' is no batch of examples (same)",
        ),
    ],
)
def test_inputs_that_do_not_correspond_are_named(plan, specs, message):
    with pytest.raises(InputError) as error:
        match_inputs(plan, specs, {})
    assert message in str(error.value)


@pytest.mark.parametrize("rows, fits", [(4, True), (None, True), (3, False)])
def test_a_step_of_its_own_may_deal_out_what_the_old_graph_takes_whole(rows, fits):
    whole = Input("all", "float32", [rows], "same", 0, ["all:0"], "all:0")
    specs = {"x": InputSpec(()), "all": InputSpec(())}
    if fits:
        assert match_inputs(plan_with(whole), specs, {}, own_step=True) == {"x": "x", "all": "all"}
        assert with_port_shapes(whole, specs["all"], 4).shape == [rows]
    else:
        with pytest.raises(InputError, match="'all' is float"):
            match_inputs(plan_with(whole), specs, {}, own_step=True)


def test_an_input_that_is_no_batch_corresponds_by_its_whole_shape():
    lengths = Input("lengths", "float32", [3], "whole", 0, ["lengths:0"], "lengths:0")
    specs = {"x": InputSpec(()), "sizes": InputSpec((3,))}
    assert match_inputs(plan_with(lengths), specs, {}) == {"x": "x", "sizes": "lengths"}
    assert with_port_shapes(lengths, InputSpec((3,))).shape == [3]
    with pytest.raises(InputError, match="has no 'sizes'"):
        match_inputs(plan_with(lengths), {"x": InputSpec(()), "sizes": InputSpec((4,))}, {})


def test_open_sizes_and_limits_are_the_ports():
    entry = Input("x", "int32", [None, None], "batch", 7, ["x:0"], "x:0", example=[None, 4])
    assert with_port_shapes(entry, InputSpec((3,))).example == []
    assert with_port_shapes(entry, InputSpec((3,), "int", 5)).shape == [None, 3]
    assert with_port_shapes(entry, InputSpec((3,), "int", 5)).limit == 5
    assert with_port_shapes(entry, InputSpec((3,), "int", 9)).limit == 7
    assert with_port_shapes(entry, InputSpec((3,))).limit == 7


def open_ids(name):
    return Input(name, "int32", [None, None], "batch", 7, [f"{name}:0"], f"{name}:0")


def test_inputs_of_one_open_shape_correspond_by_their_names_as_python_has_them():
    ids = {name: InputSpec((size,), "int", 7) for name, size in (("x_input", 4), ("word_ends", 3))}
    plan = plan_with(open_ids("tower_0/X_input"), open_ids("tower_0/wordEnds"))
    found = match_inputs(plan, {"x": InputSpec(()), **ids}, {})
    assert found == {"x": "x", "x_input": "tower_0/X_input", "word_ends": "tower_0/wordEnds"}
    with pytest.raises(InputError, match="has no 'x_input'"):
        match_inputs(plan_with(open_ids("a/X_input"), open_ids("b/X_input")), {"x": InputSpec(()), **ids}, {})
