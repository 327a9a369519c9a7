import numpy as np
import pytest

from parity.causes.basics.cause import HIGH, MEDIUM
from parity.causes.inputs import initial_weights
from parity.comparison.fits import FactorFit
from parity.diagnosis.facts.initial_state import InitialDifferences, InitialWeight
from tests.parity.causes.stub_step import change_of
from tests.parity.step_records import made_up_evidence, made_up_state

CRITERIA = {cause.id: cause.criterion for cause in initial_weights.CAUSES}


def weight(std_ratio, size=1600, factor=0.0, residual=1.0, name="w"):
    """An initial weight that was drawn anew; 1600 elements have a sampling error of 4 / 40 = 0.1."""
    return InitialWeight(name, size, FactorFit(factor, residual), std_ratio)


def multiple(factor, size=1600, residual=0.0):
    return weight(factor, size, factor, residual)


def recognized(*weights):
    facts = InitialDifferences(list(weights), {}, [], {}, [], 0)
    evidence = made_up_evidence(initial=facts)
    findings = {name: criterion(evidence) for name, criterion in CRITERIA.items()}
    return {name: finding for name, finding in findings.items() if finding is not None}


def test_equal_weights_are_no_cause():
    assert recognized() == {}


@pytest.mark.parametrize("odd", [weight(2.0, size=7), weight(float("nan"))])
def test_weights_without_a_standard_deviation_are_no_cause(odd):
    assert recognized(odd) == {}


@pytest.mark.parametrize("factor", [20.0, 1 / 20.0, 10.0, 0.1, 0.87962566, 1.13683])
def test_a_multiple_by_another_default_is_named(factor):
    found = recognized(multiple(factor))
    assert list(found) == ["INIT_DEFAULT"]
    assert found["INIT_DEFAULT"].confidence == HIGH
    assert found["INIT_DEFAULT"].sentence.startswith(f"w starts with {factor:.4g} x legacy's standard deviation: ")
    assert found["INIT_DEFAULT"].because.endswith("1600 elements, an exact multiple of legacy's")


@pytest.mark.parametrize("factor, confidence", [(20 * 1.0009, HIGH), (20 * 1.0011, MEDIUM)])
def test_a_multiple_is_a_known_one_within_one_in_a_thousand(factor, confidence):
    assert recognized(multiple(factor))["INIT_DEFAULT"].confidence == confidence


def test_an_unknown_multiple_is_named_without_a_reason():
    found = recognized(multiple(3.0))["INIT_DEFAULT"]
    assert found.sentence == "w starts with 3 x legacy's standard deviation."


@pytest.mark.parametrize("residual, because", [(0.9e-5, "an exact multiple"), (1.1e-5, "other random numbers")])
def test_a_multiple_is_exact_up_to_a_residual(residual, because):
    assert because in recognized(multiple(20.0, residual=residual))["INIT_DEFAULT"].because


def test_one_in_a_hundred_thousand_is_a_multiple():
    assert list(recognized(multiple(1 + 1.1e-5))) == ["INIT_DEFAULT"]
    assert recognized(multiple(1 + 0.9e-5)) == {}


@pytest.mark.parametrize("ratio, cause", [(1.09, "INIT_SEED"), (1.11, "INIT_DEFAULT"), (0.91, "INIT_SEED")])
def test_other_random_numbers_have_the_same_spread_within_the_sampling_error(ratio, cause):
    assert list(recognized(weight(ratio))) == [cause]


@pytest.mark.parametrize(
    "ratio, size, confidence",
    [(20 * 1.09, 1600, HIGH), (20 * 1.11, 1600, MEDIUM), (20 * 1.09, 900, MEDIUM), (0.05, 1001, HIGH)],
)
def test_a_known_ratio_of_other_random_numbers_needs_many_elements(ratio, size, confidence):
    assert recognized(weight(ratio, size))["INIT_DEFAULT"].confidence == confidence


def test_the_largest_weight_is_named():
    found = recognized(multiple(3.0, size=10), weight(20.0, size=4000, name="large"))["INIT_DEFAULT"]
    assert found.sentence.startswith("large starts with 20 x")
    assert found.because.startswith("2 weights have another spread; this one has 4000 elements")


def test_other_random_numbers_are_named():
    found = recognized(weight(1.0, factor=0.25), weight(1.0))
    assert list(found) == ["INIT_SEED"]
    assert found["INIT_SEED"].confidence == HIGH
    assert found["INIT_SEED"].sentence == (
        "2 weights start from other random numbers with the same standard deviation (w): nothing after them can be "
        "compared."
    )
    assert found["INIT_SEED"].because == "standard deviations agree, correlation 0.25"


@pytest.mark.parametrize(
    "factor, size, causes",
    [(0.89, 31, ["INIT_SEED"]), (0.91, 31, []), (-0.91, 31, []), (0.91, 30, ["INIT_SEED"])],
)
def test_weights_that_are_correlated_are_not_other_random_numbers(factor, size, causes):
    assert list(recognized(weight(1.0, size, factor))) == causes


def changed_state(fault):
    state = made_up_state({"w": [1.0, 2.0, 4.0, 8.0], "b": [3.0, 3.0]}, averages={"w": [1.0, 2.0, 4.0, 8.0]})
    change_of(fault).states[0](state, None)
    return state


@pytest.mark.parametrize(
    "fault, factor",
    [
        ("normal_of_another_default", 0.05),
        ("uniform_of_another_default", 0.1),
        ("uncorrected_truncated_normal", 0.87962566),
    ],
)
def test_faults_scale_weights_but_not_constants(fault, factor):
    state = changed_state(fault)
    assert state.weights["w"].tolist() == pytest.approx([factor, 2 * factor, 4 * factor, 8 * factor])
    assert state.weights["b"].tolist() == [3.0, 3.0]
    np.testing.assert_array_equal(state.averages["w"], state.weights["w"])


def test_faults_shuffle_weights():
    state = changed_state("other_first_values")
    assert sorted(state.weights["w"].tolist()) == [1.0, 2.0, 4.0, 8.0]
    assert state.weights["w"].tolist() != [1.0, 2.0, 4.0, 8.0]
    assert state.weights["b"].tolist() == [3.0, 3.0]
    np.testing.assert_array_equal(state.averages["w"], state.weights["w"])
