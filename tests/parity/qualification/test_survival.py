"""The command that kills a run: its comparison of the final states, and its flags for the runs."""

import numpy as np
import pytest

from parity.processes.kill_and_resume import FinalState, Kill
from tests.own_flags import own_flags, set_flags

with own_flags():
    from parity.qualification import survival

KILLS = [Kill(7, 0, 0.5), Kill(12, 1, 2.0)]


def state(checkpoint="step-20", **tensors):
    return FinalState(checkpoint, {name: np.float32(value) for name, value in tensors.items()})


def test_equal_states_after_all_kills_pass():
    result = survival.compare_final_states(state(a=1, b=2), state(a=1, b=2), KILLS, planned=2)
    assert result.passed and result.differing == [] and result.tensors == 2
    line = survival.result_line("regression", 20, result)
    assert line == (
        "regression: 20 steps, killed 2 times at steps 7, 12; 2 tensors of step-20: identical bits; "
        "all had ended 2.0 s after a kill"
    )


def test_a_kill_that_did_not_take_place_fails():
    assert not survival.compare_final_states(state(a=1), state(a=1), KILLS, planned=3).passed


def test_tensors_and_steps_that_differ_fail_and_are_named():
    result = survival.compare_final_states(state(a=1, b=2), state("step-19", a=1, b=3), KILLS, planned=2)
    assert not result.passed and result.differing == ["b", "the step: step-20 and step-19"]
    assert "DIFFERENT: b, the step: step-20 and step-19;" in survival.result_line("regression", 20, result)


def test_a_line_names_a_few_tensors_only():
    names = {f"w{number}": number for number in range(9)}
    result = survival.compare_final_states(state(**names), state(), [], planned=0)
    assert "DIFFERENT: w0, w1, w2, w3, w4 and 4 more; all had ended 0.0 s" in survival.result_line(
        "regression", 20, result
    )


def test_json_names_the_kills():
    result = survival.compare_final_states(state(a=1), state(a=1), KILLS[:1], planned=1)
    assert result.to_json() == {
        "passed": True, "differing": [], "tensors": 1, "kills": [{"step": 7, "worker": 0, "seconds": 0.5}],
    }  # fmt: skip


@pytest.mark.parametrize("workers, strategy", [(1, False), (2, True)])
def test_several_workers_train_under_their_strategy(workers, strategy):
    with set_flags(survival.FLAGS, workers=workers):
        arguments = survival.training_arguments()
    assert f"--workers={workers}" in arguments and "--steps=400" in arguments and "--checkpoint_every=10" in arguments
    assert (arguments[-1] == "--strategy=multi_worker") is strategy


def test_moments_besides_steps_are_counted():
    result = survival.compare_final_states(state(a=1), state(a=1), KILLS, 2, kinds=["step", "saving"])
    assert result.passed and result.to_json()["moments"] == {"step": 1, "saving": 1}
    assert "killed 2 times at steps 7, 12 (1 in saving); 1 tensor" in survival.result_line("regression", 20, result)


def test_where_bits_are_never_the_same_names_and_steps_are_compared():
    assert survival.compare_final_states(state(a=1), state(a=2), KILLS, 2, bits=False).passed
    assert not survival.compare_final_states(state(a=1), state(b=1), KILLS, 2, bits=False).passed
    assert not survival.compare_final_states(state(a=1), state("step-19", a=1), KILLS, 2, bits=False).passed
