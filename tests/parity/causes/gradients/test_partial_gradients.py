from unittest import mock

import pytest

from modern.collectives import exchange
from parity.causes.basics.cause import HIGH
from parity.causes.gradients import partial_gradients
from parity.comparison.fits import FactorFit
from parity.diagnosis.candidates.combined_forms import CombinedForm
from tests.parity.causes.facts import CLEAN, combined_fit, gradient_factors, replica_gradient
from tests.parity.causes.stub_step import faulty_step, forward_backward
from tests.parity.step_records import made_up_evidence


def weights_evidence(*entries, residual=CLEAN, factors=None):
    """Evidence of replicas' gradients, each given as {weight: its factor}."""
    gradients = [replica_gradient(tensors=tensors, residual=residual) for tensors in entries]
    return made_up_evidence(gradients=gradients, gradient_factors=factors)


def test_a_weight_whose_gradient_is_zero_everywhere_gets_none():
    found = partial_gradients.gradient_missing(weights_evidence({"a": 0.0, "b": 1.0}, {"a": 0.0, "b": 1.0}))
    assert found.sentence == "1 weight gets no gradient in the port (a), but in legacy."
    assert found.confidence == HIGH


@pytest.mark.parametrize(
    "entries", [({"a": 1.0, "b": 1.0},), ({"a": 0.0, "b": 0.0},), ({"a": 0.0, "b": 1.0}, {"a": 0.5, "b": 1.0})]
)
def test_weights_with_gradients_or_all_without_are_no_missing_gradient(entries):
    assert partial_gradients.gradient_missing(weights_evidence(*entries)) is None


def test_some_weights_with_one_factor_are_named():
    found = partial_gradients.gradient_partly_scaled(weights_evidence({"a": 2.0, "b": 1.0, "c": 2.0}))
    assert found.sentence == "The gradients of 2 of 3 weights are 2 x legacy's, the others agree (a)."


@pytest.mark.parametrize(
    "tensors", [{"a": 1.0, "b": 1.0}, {"a": 2.0, "b": 2.0}, {"a": 2.0, "b": 3.0, "c": 1.0}, {"a": 0.0, "b": 1.0}]
)
def test_no_factor_one_of_all_or_several_are_no_partial_factor(tensors):
    assert partial_gradients.gradient_partly_scaled(weights_evidence(tensors)) is None


def test_a_factor_counts_from_one_in_ten_thousand():
    assert partial_gradients.gradient_partly_scaled(weights_evidence({"a": 1.0002, "b": 1.0})) is not None
    assert partial_gradients.gradient_partly_scaled(weights_evidence({"a": 1.00005, "b": 1.0})) is None


def test_weights_are_not_judged_where_a_fit_is_not_clean_or_one_factor_explains_all():
    tensors = {"a": 2.0, "b": 1.0}
    clean = made_up_evidence().clean_residual
    assert partial_gradients.gradient_partly_scaled(weights_evidence(tensors, residual=3.9 * clean)) is not None
    assert partial_gradients.gradient_partly_scaled(weights_evidence(tensors, residual=4.1 * clean)) is None
    assert partial_gradients.gradient_partly_scaled(weights_evidence(tensors, factors=gradient_factors())) is None
    assert partial_gradients.gradient_partly_scaled(weights_evidence()) is None


def test_a_weight_without_a_known_factor_is_left_out():
    entry = replica_gradient(tensors={"a": 2.0, "b": 1.0})
    entry.tensors["c"] = FactorFit(float("nan"), float("nan"))
    found = partial_gradients.gradient_partly_scaled(made_up_evidence(gradients=[entry], gradient_factors=None))
    assert "1 of 2 weights" in found.sentence


def left_out(left, right):
    return partial_gradients.replica_left_out(made_up_evidence(combined_fits=(left, right)))


def test_replicas_with_no_share_are_left_out():
    mean = combined_fit(CombinedForm("mean"))
    found = left_out(mean, combined_fit(shares=[[0.5, 0.0, 0.5, 0.0]] * 2))
    assert found.sentence == (
        "In the port the gradients of replicas 1, 3 never reach the update; the others count 0.5, 0.5."
    )
    found = left_out(combined_fit(shares=[[1.0, 0.0]]), mean)
    assert found.sentence == "In legacy the gradients of replica 1 never reach the update; the others count 1."


@pytest.mark.parametrize(
    "fit",
    [
        None,
        combined_fit(CombinedForm("mean"), shares=[[1.0, 0.0]]),
        combined_fit(shares=[[1.0, 0.0]], borrowed=True),
        combined_fit(shares=[[1.0]]),
        combined_fit(shares=[[1.0, 0.0]], residual=2e-5),
        combined_fit(shares=[[1.0, 0.0], [0.9, 0.0]]),
        combined_fit(shares=[[0.5, 0.5]]),
        combined_fit(shares=[[0.0, 0.0]]),
        combined_fit(shares=[[1.0, 0.002]]),
    ],
)
def test_shares_that_are_known_otherwise_unclean_or_not_zero_leave_nobody_out(fit):
    assert left_out(None, fit) is None


def test_faults_change_the_first_weight_only():
    gradients = {"a": 8.0, "b": 4.0}
    assert forward_backward(faulty_step("first_weights_gradient_doubled"), gradients)[1] == {"a": 16.0, "b": 4.0}
    assert forward_backward(faulty_step("first_weights_gradient_stopped"), gradients)[1] == {"a": 0.0, "b": 4.0}


def test_the_first_replica_s_gradients_are_taken_for_all():
    step = faulty_step("only_the_first_replicas_gradients")
    with mock.patch.object(exchange, "from_first", lambda context, values: [10 * value for value in values]):
        assert step._combine(None, {"a": 1.0, "b": 2.0}) == {"a": 10.0, "b": 20.0}
