"""Ops fetched beside a train op: groups of updates, and ops that raise its step counter again."""

import pytest

from legacy.saved.runs.fetched_beside import counters_beside, raised_by, runner_of
from tests.legacy.saved.graphs import graph_of


@pytest.mark.parametrize(
    "updates, runner", [(["a", "b"], "both"), (["b", "c"], "all"), (["c"], "c"), (["a", "alone"], "")]
)
def test_the_group_that_runs_least_else_runs_updates(updates, runner):
    text = """
        a = AssignSub()
        b = AssignSub()
        both = NoOp(^a, ^b)
        c = AssignSub()
        all = NoOp(^both, ^c)
        alone = AssignSub()
    """
    assert runner_of(graph_of(text), updates) == runner


COUNTED = """
    step = VariableV2()
    epoch = VariableV2()
    w = VariableV2()
    one = Const()
    length = Shape(w)
    apply = ApplyMomentum(w)
    train = AssignAdd(step, one, ^apply)
    other_apply = ApplyAdam(w)
    other_train = AssignAdd(step, one, ^other_apply)
    increment = AssignAdd(step, one)
    examples = AssignAdd(step, length)
    next_epoch = AssignAdd(epoch, one)
    reset = Assign(step, one)
"""


def test_ops_that_raise_the_step_counter_once_more_are_found():
    assert counters_beside(graph_of(COUNTED), ["train"]) == {"increment": "step"}


@pytest.mark.parametrize("sibling, count", [("biased", 0), ("other", 1)])
def test_the_count_of_an_average_is_no_step_counter(sibling, count):
    """An average of tower 1 that divides its bias out; tower 0 has updates of it that never run."""
    text = f"""
        mean/{sibling} = VariableV2()
        mean/local_step = VariableV2()
        one = Const()
        train = AssignAdd(mean/local_step, one)
        unused = AssignAdd(mean/local_step, one)
    """
    assert len(counters_beside(graph_of(text), ["train"])) == count


def test_a_counter_that_the_train_op_does_not_raise_is_none_of_its():
    assert counters_beside(graph_of(COUNTED), ["apply"]) == {}
    both = COUNTED + "    step_and_more = NoOp(^train, ^increment)\n"
    assert counters_beside(graph_of(both), ["step_and_more"]) == {}


@pytest.mark.parametrize(
    "value, found",
    [
        ("AddV2(read, one)", {"change": "count"}),
        ("Add(one, count)", {"change": "count"}),  # a reference
        ("AddV2(read, read)", {}),
        ("AddV2(other, one)", {}),
        ("Mul(read, one)", {}),
        ("Identity(count)", {}),
    ],
)
def test_an_op_that_assigns_a_counter_its_sum_with_a_constant_raises_it(value, found):
    text = f"""
        count = VariableV2()
        other = VariableV2()
        one = Const()
        read = Identity(count)
        value = {value}
        change = Assign(count, value)
        initial = Assign(count, one)
    """
    assert raised_by(graph_of(text)) == found
