import pytest

from parity.causes.basics.cause import HIGH, MEDIUM
from parity.causes.combining import loss_division, scale
from parity.diagnosis.candidates.combined_forms import CombinedForm
from parity.diagnosis.context.job_context import Context
from tests.parity.causes.facts import FOUR_REPLICAS, combined_fit, gradient_factors, total_factor
from tests.parity.causes.stub_step import change_of, combine, faulty_step, forward_backward
from tests.parity.step_records import made_up_evidence

CRITERIA = {cause.id: cause.criterion for cause in loss_division.CAUSES + scale.CAUSES}
EPS = 2.0**-23
MEAN = CombinedForm("mean")


def recognized(factors, context=FOUR_REPLICAS, combined_fits=(None, None)):
    """{id: finding} of the causes of one factor that are recognized."""
    evidence = made_up_evidence(context=context, gradient_factors=factors, combined_fits=combined_fits)
    findings = {name: criterion(evidence) for name, criterion in CRITERIA.items()}
    return {name: finding for name, finding in findings.items() if finding is not None}


@pytest.mark.parametrize("factors", [gradient_factors(), gradient_factors(1.0 + 31 * EPS), gradient_factors(0.25, 4.0)])
def test_no_factor_is_no_cause(factors):
    assert recognized(factors) == {}


def test_a_factor_beyond_rounding_is_a_factor():
    assert list(recognized(gradient_factors(1.0 + 33 * EPS))) == ["GRADIENT_SCALE"]


@pytest.mark.parametrize(
    "cause, replica, reduction, confidence",
    [
        ("LOSS_NOT_DIVIDED", 1.0, 4.0, HIGH),
        ("LOSS_NOT_DIVIDED", 4.0, 1.0, HIGH),
        ("LOSS_DIVIDED_TWICE", 0.25, 1.0, HIGH),
        ("LOSS_DIVIDED_TWICE", 0.0625, 4.0, HIGH),
        ("SUM_REDUCTION", 8.0, 1.0, HIGH),
        ("SUM_REDUCTION", 8.0, 4.0, HIGH),
        ("TOWERS_SUMMED", 1.0, 0.25, HIGH),
        ("GRADIENT_SCALE", 3.0, 1.0, MEDIUM),
    ],
)
def test_each_factor_has_its_cause(cause, replica, reduction, confidence):
    found = recognized(gradient_factors(replica, reduction))
    assert list(found) == [cause]
    assert found[cause].confidence == confidence


def test_a_factor_just_beside_n_is_another_one():
    assert list(recognized(gradient_factors(1.0, 4.0003))) == ["LOSS_NOT_DIVIDED"]
    assert list(recognized(gradient_factors(1.0, 4.0005))) == ["GRADIENT_SCALE"]


def test_the_sentence_says_the_factor():
    found = recognized(gradient_factors(1.0, 4.0))["LOSS_NOT_DIVIDED"]
    assert found.sentence == (
        "Every gradient is 4 x legacy's, the number of replicas: gradients are summed over the replicas, and the loss "
        "is not divided by the global batch."
    )
    assert "each replica's gradients agree and they are summed" in found.because


def test_with_two_replicas_a_factor_of_two_or_one_half_may_be_in_the_loss():
    two = Context(replicas=2, global_batch=16)
    assert recognized(gradient_factors(2.0), two)["LOSS_NOT_DIVIDED"].confidence == MEDIUM
    assert recognized(gradient_factors(0.5), two)["LOSS_DIVIDED_TWICE"].confidence == MEDIUM
    assert recognized(gradient_factors(1.0, 2.0), two)["LOSS_NOT_DIVIDED"].confidence == HIGH


def test_a_factor_that_is_both_the_number_of_replicas_and_of_examples_is_recognised_by_where_it_is():
    four_of_four = Context(replicas=4, global_batch=16)
    assert list(recognized(gradient_factors(4.0), four_of_four)) == ["SUM_REDUCTION"]
    assert list(recognized(gradient_factors(1.0, 4.0), four_of_four)) == ["LOSS_NOT_DIVIDED"]
    assert recognized(gradient_factors(4.0), four_of_four)["SUM_REDUCTION"].confidence == MEDIUM


def test_a_total_factor_that_is_not_divided_among_replicas_is_worked_out():
    found = recognized(total_factor(4.0))
    assert list(found) == ["LOSS_NOT_DIVIDED"]
    assert found["LOSS_NOT_DIVIDED"].because.endswith("computed from the combined gradients")


def test_a_difference_as_small_as_the_residual_is_noise():
    assert recognized(gradient_factors(1.0625, residual=2.0**-8)) == {}
    assert list(recognized(gradient_factors(1.0625, residual=2.0**-9))) == ["GRADIENT_SCALE"]


def test_a_side_that_shows_too_little_is_no_cause():
    assert recognized(None) == {}
    assert recognized(None, combined_fits=(combined_fit(MEAN), combined_fit())) == {}


@pytest.mark.parametrize(
    "fault, factor, combined",
    [
        ("reduced_twice", 1.0, 4.0),
        ("divided_and_averaged", 0.25, 1.0),
        ("divided_twice_and_summed", 0.0625, 4.0),
        ("sum_over_examples", 2.0, 1.0),
        ("sum_over_examples_and_replicas", 2.0, 4.0),
        ("loss_times_three", 3.0, 1.0),
        ("gradients_a_little_larger", 1.0001, 1.0),
    ],
)
def test_faults_multiply_gradients_in_a_replica_and_in_the_reduction(fault, factor, combined):
    step = faulty_step(fault)
    assert forward_backward(step, {"w": 8.0}, loss=2.0) == (2.0 * factor, {"w": 8.0 * factor})
    assert combine(step, {"w": 8.0}) == {"w": 8.0 * combined}


def test_sums_and_means_are_exchanged_in_the_workload():
    assert change_of("sum_for_mean").fields[0](None) == {"combine": "sum"}
    assert change_of("mean_for_sum").fields[0](None) == {"combine": "mean"}
