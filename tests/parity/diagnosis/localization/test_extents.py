import numpy as np
import pytest

from parity.diagnosis.context.job_context import Context
from parity.diagnosis.localization.extents import Extent, find_extents
from tests.parity.step_records import compared_step, made_up_evidence, made_up_state, step_record
from workloads import optimizers
from workloads.workload import MovingAverage

RULE = optimizers.Momentum(0.5)
CONTEXT = Context(1, 4, optimizer=RULE, combine="mean", moving_average=MovingAverage(0.5, warm_up=False))
GRADIENT = {"a": [2.0, 4.0], "b": [8.0, -2.0]}
BEFORE = made_up_state(
    {"a": [1.0, 2.0], "b": [3.0, 4.0]},
    {"a/momentum": [0.0, 0.0], "b/momentum": [0.0, 0.0]},
    {"mean": [0.0, 0.0]},
    {"a": [1.0, 2.0], "b": [3.0, 4.0]},
)


def after(**changed):
    """The state after one step at a learning rate of 0.5; arguments are parts of it that differ."""
    parts = {
        "weights": {"a": [0.0, 0.0], "b": [-1.0, 5.0]},
        "slots": {"a/momentum": [2.0, 4.0], "b/momentum": [8.0, -2.0]},
        "statistics": {"mean": [1.0, 2.0]},
        "averages": {"a": [0.5, 1.0], "b": [1.0, 4.5]},
    }
    return made_up_state(**{kind: {**values, **changed.get(kind, {})} for kind, values in parts.items()})


def record(step=0, gradient=None, combined=None, proposal=(1.0, 2.0), **changed):
    return step_record(
        step,
        gradients=[{**GRADIENT, **(gradient or {})}],
        combined={**GRADIENT, **(combined or {})},
        state=after(**changed),
        proposals=[{"mean": proposal}],
    )


def extents(*rights):
    steps = [compared_step(record(step), right, BEFORE) for step, right in enumerate(rights)]
    return find_extents(made_up_evidence(steps, CONTEXT))


def test_nothing_deviates_where_both_sides_do_the_same():
    found = extents(record(0), record(1))
    assert all(stage.names == [] and stage.steps == [] for stage in found)
    assert all(list(stage.compared) == [0, 1] for stage in found)


@pytest.mark.parametrize(
    "stage, name, changed",
    [
        ("gradients", "a", {"gradient": {"a": [2.0, 4.01]}, "combined": {"a": [2.0, 4.01]}}),
        ("combined", "b", {"combined": {"b": [8.0, -2.01]}}),
        ("updates", "a", {"slots": {"a/momentum": [2.0, 4.01]}}),
        ("updates", "b", {"weights": {"b": [-1.0, 5.01]}}),
        ("statistics", "mean", {"statistics": {"mean": [1.0, 2.01]}}),
        ("statistics", "mean", {"proposal": (1.0, 2.01), "statistics": {"mean": [1.0, 2.01]}}),
        ("averages", "a", {"averages": {"a": [0.5, 1.01]}}),
    ],
)
def test_the_variable_and_the_step_of_a_difference_are_found(stage, name, changed):
    found = getattr(extents(record(0), record(1, **changed)), stage)
    assert (found.names, found.steps) == ([name], [1])
    assert found.in_some_steps
    assert found.in_some_variables == (name != "mean")


def test_rounding_is_no_deviation_and_more_is():
    one = np.float32(2.0**-23)
    few, many = (np.array([2.0, 4.0 * (1 + k * one)], np.float32) for k in (2, 4000))
    assert extents(record(gradient={"a": few})).gradients.names == []
    assert extents(record(gradient={"a": many})).gradients.names == ["a"]


def test_a_number_that_is_not_finite_is_a_deviation():
    assert extents(record(gradient={"a": [np.nan, 4.0]})).gradients.names == ["a"]
    assert extents(record(averages={"a": [np.inf, 1.0]})).averages.names == ["a"]


def test_gradients_of_other_weights_are_not_compared():
    other = made_up_state({"a": [9.0, 2.0], "b": [3.0, 4.0]}, BEFORE.slots, BEFORE.statistics, BEFORE.averages)
    steps = [compared_step(record(0), record(0, gradient={"a": [7.0, 4.0]}), BEFORE, other)]
    assert find_extents(made_up_evidence(steps, CONTEXT)).gradients == Extent({}, {})


def test_what_the_rule_does_not_explain_on_the_left_either_is_not_blamed_on_the_right():
    odd = record(weights={"b": [-1.0, 5.01]})
    steps = [compared_step(odd, odd, BEFORE)]
    assert find_extents(made_up_evidence(steps, CONTEXT)).updates.names == []


def test_proposals_are_compared_in_steps_from_the_same_state_only():
    """Each side keeps what its first replica proposes, so that steps from other states say nothing of proposals."""
    own = {"proposal": (1.0, 2.5), "statistics": {"mean": [1.0, 2.5]}}
    moved = made_up_state({"a": [9.0, 2.0], "b": [3.0, 4.0]}, BEFORE.slots, BEFORE.statistics, BEFORE.averages)
    steps = [compared_step(record(0), record(0, **own), BEFORE), compared_step(record(1), record(1), BEFORE, moved)]
    found = find_extents(made_up_evidence(steps, CONTEXT)).statistics
    assert (list(found.compared), found.steps, found.in_some_steps) == ([0], [0], False)
    kept = {"statistics": {"mean": [1.0, 2.5]}}
    steps[1] = compared_step(record(1), record(1, **kept), BEFORE, moved)
    found = find_extents(made_up_evidence(steps, CONTEXT)).statistics
    assert (list(found.compared), found.steps, found.names) == ([0, 1], [0, 1], ["mean"])


def test_what_both_sides_keep_is_compared_where_a_saved_graph_shows_no_proposals():
    before = made_up_state(BEFORE.weights, BEFORE.slots, {"mean": [0.0, 0.0], "spread": [1.0, 1.0]}, BEFORE.averages)

    def kept(mean, spread):
        state = made_up_state(after().weights, after().slots, {"mean": mean, "spread": spread}, after().averages)
        return step_record(gradients=[GRADIENT], combined=GRADIENT, state=state)

    first = compared_step(kept([1.0, 2.0], [2.0, 3.0]), kept([1.0, 2.0], [2.0, 3.5]), before)
    found = find_extents(made_up_evidence([first], CONTEXT)).statistics
    assert (found.names, found.steps, found.in_some_variables) == (["spread"], [0], True)
    equal = compared_step(first.left, first.left, before)
    assert find_extents(made_up_evidence([equal], CONTEXT)).statistics.names == []
