"""Correspondence of inputs and random streams, and what is on one side only."""

import doctest

import pytest

from parity.against import input_names
from parity.against.input_names import match_inputs, match_noise, with_port_shapes
from tests.small_lift import small_plan
from workloads.frame import NoiseSpec
from workloads.lifted.plan import Input, Noise
from workloads.support.errors import InputError
from workloads.workload import InputSpec

KEEP = Input("keep", "float32", [], "setting", 0, ["keep:0"], "keep:0")
UNIFORM = NoiseSpec(())
LABELS = Input("queue__1", "int64", [2], "batch", 0, ["q0:1", "q1:1"], "q:1")


def plan_with(*inputs):
    plan = small_plan()
    plan.inputs += inputs
    return plan


def noisy(*names, **fields):
    plan = small_plan()
    made = {"op": "RandomUniform", "how": "keyed", **fields}
    plan.noise = [Noise(name, nodes=[name, name + "_1"], **made) for name in names]
    return plan


def test_the_docstrings_examples_hold():
    assert doctest.testmod(input_names).failed == 0


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


def test_noise_corresponds_by_its_place_in_the_path():
    first, second = "tower_0/fc1/dropout/uniform/RandomUniform", "tower_0/fc2/dropout/uniform/RandomUniform"
    found = match_noise(noisy(first, second), {"fc2/dropout": UNIFORM, "fc1/dropout": UNIFORM})
    assert found == {first: "fc1/dropout", second: "fc2/dropout"}
    assert match_noise(noisy(first), {first: UNIFORM}) == {first: first}
    assert match_noise(noisy(first), {"mask": UNIFORM}) == {first: "mask"}
    assert match_noise(noisy(), {}) == {}
    assert match_noise(noisy("z", op="RandomStandardNormal"), {"z": NoiseSpec((), "normal")}) == {"z": "z"}


@pytest.mark.parametrize(
    "plan, drawn, message",
    [
        (noisy("a/drop"), {}, "the port draws none for 'a/drop'"),
        (noisy(), {"drop": UNIFORM}, "the old graph draws none for 'drop'"),
        (noisy("a/drop", "b/drop"), {"drop": UNIFORM}, "draws none for 'drop', or several"),
        (noisy("a", op="RandomStandardNormal"), {"a": UNIFORM}, "'a' is RandomStandardNormal, and the port's 'a' is"),
        (noisy("a", op="RandomGamma"), {"a": UNIFORM}, "'a' is RandomGamma, and a workload draws uniform and normal"),
        (noisy("a", op="Multinomial"), {"a": UNIFORM}, "'a' is Multinomial, and the port's 'a' is uniform"),
        (noisy("a", in_loop=True), {"a": UNIFORM}, "'a' is drawn in a loop, and the port's 'a' drawn once a step"),
        (
            noisy("a"),
            {"a": NoiseSpec((), in_loop=True)},
            "'a' is drawn once a step, and the port's 'a' drawn in a loop",
        ),
    ],
)
def test_noise_on_one_side_only_is_named(plan, drawn, message):
    with pytest.raises(InputError) as error:
        match_noise(plan, drawn)
    assert message in str(error.value)


def test_ops_that_draw_by_their_seeds_are_left_to_the_port():
    plan = noisy("a")
    plan.noise.append(Noise("s", "LogUniformCandidateSampler", "seeded", ["s0", "s1"]))
    assert match_noise(plan, {"a": UNIFORM}) == {"a": "a"}
    plan.noise[-1].how = "keyed"
    with pytest.raises(InputError, match="'s' is LogUniformCandidateSampler"):
        match_noise(plan, {"a": UNIFORM})


def test_noise_of_all_towers_is_drawn_once_on_both_sides():
    plan = noisy("own")
    plan.common_noise = [Noise("all", "RandomUniform", "keyed", ["all"])]
    common = UNIFORM._replace(is_common=True)
    assert match_noise(plan, {"all": common, "own": UNIFORM}) == {"all": "all", "own": "own"}
    with pytest.raises(InputError, match="'all' is drawn once for all towers, and the port's 'all' by each tower"):
        match_noise(plan, {"all": UNIFORM, "own": UNIFORM})
    with pytest.raises(InputError, match="'own' is drawn by each tower, and the port's 'own' once for all towers"):
        match_noise(plan, {"all": common, "own": common})
