from parity.causes.combining.total_factor import names_of_factor, scaled_totals
from tests.parity.causes.facts import FOUR_REPLICAS, gradient_factors, total_factor
from tests.parity.step_records import made_up_evidence


def test_a_hidden_replica_s_factor_must_exceed_its_residual():
    assert scaled_totals(made_up_evidence(gradient_factors=total_factor(1.125, residual=0.25))) is None
    assert scaled_totals(made_up_evidence(gradient_factors=total_factor(1.125, residual=0.0625))) is not None
    assert scaled_totals(made_up_evidence(gradient_factors=total_factor(float("nan")))) is None


def test_a_factor_has_the_names_of_the_job_s_numbers_that_it_equals():
    evidence = made_up_evidence(context=FOUR_REPLICAS)
    assert names_of_factor(gradient_factors(1.0, 4.0), evidence) == ["N"]
    assert names_of_factor(gradient_factors(0.25), evidence) == ["1/N"]
    assert names_of_factor(gradient_factors(8.0), evidence) == ["b"]
    assert names_of_factor(gradient_factors(7.0), evidence) == []
