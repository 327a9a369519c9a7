import numpy as np

from parity.comparison import stages
from parity.diagnosis.context.job_context import Context
from parity.diagnosis.signatures.swaps import Swap, find_swaps
from tests.parity.step_records import compared_step, made_up_evidence, made_up_state, step_record
from workloads import optimizers
from workloads.workload import MovingAverage

A, B, C = [1.0, 2.0, 4.0], [3.0, -5.0, 7.0], [6.0, 1.0, 8.0]
CONTEXT = Context(
    1, 4, optimizer=optimizers.Momentum(0.5), combine="mean", moving_average=MovingAverage(0.5, warm_up=False)
)
ZERO = {"a": [0.0] * 3, "b": [0.0] * 3}


def swaps(gradients=(A, B), combined=(A, B), slots=(A, B), averages=(A, B), left=None):
    """The swaps of a port whose weights are A and B after a step from zero; arguments are what a and b hold."""
    before = made_up_state(ZERO, {"a/momentum": ZERO["a"], "b/momentum": ZERO["b"]}, averages=ZERO)
    names = dict(zip("ab", (A, B)))
    record = step_record(
        gradients=[dict(zip("ab", gradients))],
        combined=dict(zip("ab", combined)),
        learning_rate=-1.0,
        state=made_up_state(
            dict(zip("ab", slots)),
            dict(zip(("a/momentum", "b/momentum"), slots)),
            averages={name: np.asarray(value) / 2 for name, value in zip("ab", averages)},
        ),
    )
    healthy = step_record(gradients=[names], combined=names, learning_rate=-1.0, state=record.state)
    return find_swaps(made_up_evidence([compared_step(healthy, record, before)], CONTEXT))


def pair(stage):
    return [Swap(stage, "a", "b", (0,)), Swap(stage, "b", "a", (0,))]


def test_two_variables_hold_each_others_values():
    assert swaps(gradients=(B, A), combined=(B, A), slots=(B, A), averages=(B, A)) == pair(stages.GRADIENTS)
    assert swaps(combined=(B, A), slots=(B, A), averages=(B, A)) == pair(stages.COMBINED)
    assert swaps(slots=(B, A), averages=(B, A)) == pair(stages.SLOTS)
    assert swaps(averages=(B, A)) == pair(stages.AVERAGES)


def test_one_variable_may_take_anothers_values_alone():
    assert swaps(averages=(A, A)) == [Swap(stages.AVERAGES, "b", "a", (0,))]


def test_other_values_are_no_swap():
    assert swaps() == []
    assert swaps(averages=(A, C)) == []
    assert swaps(averages=(A, [1.0, 2.0, 4.01])) == []


def test_values_that_agree_by_chance_are_no_swap():
    before = made_up_state({"a": [1.0, 1.0], "b": [0.0, 0.0]})
    other = made_up_state({"a": [0.0, 0.0], "b": [1.0, 1.0]})
    assert find_swaps(made_up_evidence([compared_step(step_record(), None, before, other)])) == []


def test_a_variable_that_one_side_did_not_record_is_no_swap():
    left, right = step_record(gradients=[{"a": A, "b": B}]), step_record(gradients=[{"a": C, "b": B}])
    damaged = step_record(step=1, gradients=[{"a": A}])
    steps = [compared_step(left, right), compared_step(damaged, right)]
    assert [swap for swap in find_swaps(made_up_evidence(steps)) if swap.name == "b"] == []


def test_a_square_matrix_may_be_transposed():
    matrix = np.array([[1.0, 2.0], [3.0, 4.0]])
    before, other = made_up_state({"a": matrix}), made_up_state({"a": matrix.T})
    evidence = made_up_evidence([compared_step(step_record(), None, before, other)])
    assert find_swaps(evidence) == [Swap(stages.INITIAL, "a", "a", (0,))]
