"""A layer is found without taps in the comparison: the step is taken once more with them."""

import dataclasses

import pytest

from parity.diagnosis.context.job_context import context_of_job
from parity.diagnosis.evidence import Evidence
from parity.diagnosis.localization.layers import find_diverging_layer
from parity.diagnosis.steps.compared_step import ComparedStep
from parity.verdict.explanation import Explanation
from parity.verdict.tapped_step import tapped_step
from tests.parity.layer_faults import Case, no_forget_bias, tapped_setup
from tests.parity.step_records import made_up_evidence


def one_step(setup):
    """Evidence of one step, recorded without taps."""
    with setup.legacy_program() as left, setup.modern_program() as right:
        state = left.state()
        step = ComparedStep(left.step(), right.step(), state, state)
    evidence = Evidence(context_of_job(setup.job), state, state, [step])
    evidence.retake_with_taps = tapped_step(setup)
    return evidence


def test_the_layer_of_a_forward_pass_that_differs_is_found():
    case = Case("stacked_lstm", "lstm_sequence", "lstm1", no_forget_bias)
    evidence = one_step(tapped_setup("stacked_lstm", case, taps=()))
    assert not evidence.steps[0].left.taps
    found = find_diverging_layer(evidence)
    assert found is not None and found.layer == "lstm1"
    assert Explanation([], evidence).first_layer is found


def test_no_step_is_taken_again_where_passes_agree():
    def taken(state):
        raise AssertionError(f"step {state.step} was taken again")

    evidence = made_up_evidence()
    evidence.retake_with_taps = taken
    assert find_diverging_layer(evidence) is None


@pytest.mark.parametrize("fields", [{"workers": 2}, {"parameter_servers": 1}, {"layer_devices": 2}])
def test_only_sides_in_this_process_have_taps(fields):
    setup = tapped_setup("stacked_lstm", taps=())
    assert tapped_step(setup) is not None
    assert tapped_step(dataclasses.replace(setup, **fields)) is None
