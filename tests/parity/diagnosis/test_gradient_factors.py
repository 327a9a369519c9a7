import numpy as np
import pytest

from parity.diagnosis.candidates.combined_forms import CombinedForm
from parity.diagnosis.combined_gradients import CombinedFit
from parity.diagnosis.context.job_context import Context
from parity.diagnosis.gradient_factors import factor_names, fit_gradient_factors, reduction_weights
from tests.parity.step_records import compared_step, made_up_evidence, made_up_state, step_record

REPLICAS = [{"w": [4.0, 0.0]}, {"w": [0.0, 4.0]}]


def times(factor, gradients=REPLICAS):
    return [{name: [factor * value for value in values] for name, values in g.items()} for g in gradients]


def factors_of(left_combined, right_combined, right_gradients=None, weights=None, left_gradients=REPLICAS):
    """The factors of one step; the right's replicas have the left's gradients unless others are given."""
    right_gradients = left_gradients if right_gradients is None else right_gradients
    left = step_record(gradients=left_gradients, combined={"w": left_combined})
    right = step_record(gradients=right_gradients, combined={"w": right_combined})
    return fit_gradient_factors(made_up_evidence([compared_step(left, right, made_up_state(weights))]))


def test_equal_sides_have_factors_of_one():
    found = factors_of([2.0, 2.0], [2.0, 2.0])
    assert (found.replica, found.reduction, found.total) == (1.0, 1.0, 1.0)
    assert (found.decay, found.residual, found.replicas_shown, found.steps) == ({}, 0.0, True, 1)


@pytest.mark.parametrize("combined", [([0.0, 0.0], [2.0, 2.0]), ([2.0, 2.0], [0.0, 0.0])])
def test_gradients_that_were_combined_to_zero_tell_nothing_of_the_reduction(combined):
    assert factors_of(*combined).reduction == 1.0
    assert factors_of([2.0, 2.0], [4.0, 4.0]).reduction == 2.0


def test_a_sum_for_a_mean_is_in_the_reduction():
    found = factors_of([2.0, 2.0], [4.0, 4.0])
    assert (found.replica, found.reduction, found.total) == (1.0, 2.0, 2.0)


def test_a_factor_in_the_loss_is_in_the_replicas():
    found = factors_of([2.0, 2.0], [6.0, 6.0], times(3.0))
    assert (found.replica, found.reduction, found.total) == (3.0, 1.0, 3.0)


def test_a_factor_that_the_reduction_makes_up_for_leaves_nothing():
    found = factors_of([2.0, 2.0], [2.0, 2.0], times(0.5))
    assert (found.replica, found.reduction, found.total) == (0.5, 2.0, 1.0)


def test_a_multiple_of_the_weight_is_the_decay_of_each_replica():
    weights = {"w": [1.0, 1.0]}
    right = [{"w": [4.0 + 0.25, 0.25]}, {"w": [0.25, 4.0 + 0.25]}]
    found = factors_of([2.0, 2.0], [2.25, 2.25], right, weights)
    assert found.replica == pytest.approx(1.0)
    assert found.decay["w"] == pytest.approx([0.25, 0.25])


def test_a_bias_that_only_rounding_moves_is_not_decayed():
    weights = {"w": [1.0, 2.0], "bias": [2.0**-30, 2.0**-30]}

    def decay(of_bias):
        left = [{"w": [4.0, 1.0], "bias": [2.0**-34, 0.0]}] * 2
        right = [{"w": [4.25, 1.5], "bias": [of_bias, of_bias]}] * 2  # the weight decayed by 0.25
        records = (step_record(gradients=side, combined={"w": side[0]["w"]}) for side in (left, right))
        found = fit_gradient_factors(made_up_evidence([compared_step(*records, made_up_state(weights))]))
        return sorted(found.decay)

    assert decay(2.0**-34) == ["w"]
    assert decay(2.0**-16) == ["bias", "w"]


@pytest.mark.parametrize(
    "multiples, found", [([0.25, 0.25, 0.25], ["w"]), ([0.25, 0.5, 0.25], ["w"]), ([0.25, -0.25, 0.25], [])]
)
def test_a_decay_is_one_number_in_all_steps(multiples, found):
    """What differs from step to step and is small is rounding, which a multiple of the weight fits."""
    steps = []
    for number, multiple in enumerate(multiples):
        left, right = [{"w": [4.0, 1.0]}] * 2, [{"w": [4.0 + multiple, 1.0 + 2 * multiple]}] * 2
        records = (step_record(number, gradients=side, combined=side[0]) for side in (left, right))
        steps.append(compared_step(*records, made_up_state({"w": [1.0, 2.0]})))
    assert list(fit_gradient_factors(made_up_evidence(steps)).decay) == found


@pytest.mark.parametrize("gap, known", [(2.0**-14, True), (2.0**-12, False)])
def test_replicas_must_agree_on_one_factor(gap, known):
    right = [{"w": [4.0, 0.0]}, {"w": [0.0, 4.0 * (1 + gap)]}]
    assert (factors_of([2.0, 2.0], [2.0, 2.0], right) is not None) is known


def test_gradients_that_no_factor_and_decay_explain_have_no_factors():
    weights = {"w": [1.0, 1.0, 1.0]}
    left, right = [{"w": [4.0, 0.0, 0.0]}], [{"w": [4.0, 3.0, -3.0]}]
    assert factors_of([4.0, 0.0, 0.0], [4.0, 3.0, -3.0], right, weights, left) is None


def test_no_gradient_at_all_has_no_factors():
    assert factors_of([0.0, 0.0], [0.0, 0.0], left_gradients=[{"w": [0.0, 0.0]}] * 2) is None


def test_where_the_right_shows_no_replicas_the_combined_gradients_tell_the_total():
    found = factors_of([2.0, 2.0], [4.0, 4.0], right_gradients=[])
    assert found.total == 2.0
    assert np.isnan([found.replica, found.reduction]).all()
    assert not found.replicas_shown


def test_where_no_reduction_explains_the_right_its_combined_gradients_are_fitted():
    weights = {"w": [1.0, -1.0]}
    found = factors_of([2.0, 2.0], [6.0 + 0.5, 6.0 - 0.5], right_gradients=[], weights=weights)
    assert found.total == pytest.approx(3.0)
    assert found.decay["w"] == pytest.approx([0.5])
    assert found.steps == 1
    assert factors_of([2.0, 2.0, 0.0], [6.0, 0.0, 1.0], [], {"w": [0.0, 0.0, 0.0]}, [{"w": [2.0, 2.0, 0.0]}]) is None


def test_without_gradients_on_either_side_nothing_is_known():
    assert fit_gradient_factors(made_up_evidence()) is None


def combined_fit(fits, weights=()):
    return CombinedFit(fits, list(weights), [], [], False, False, 1, 2.0**-10)


def test_the_weight_of_a_reduction_follows_from_the_forms_that_explain_it():
    assert reduction_weights(None, 4) == []
    assert reduction_weights(combined_fit({CombinedForm("mean"): 0.0}), 4) == [0.25]
    both = {CombinedForm("sum"): 0.0, CombinedForm("mean"): 0.0, CombinedForm("mean", "tower"): 0.0}
    assert reduction_weights(combined_fit(both), 4) == [1.0, 0.25]
    assert reduction_weights(combined_fit({}), 4) == []


@pytest.mark.parametrize(
    "factor, names",
    [
        (4.0, ["N"]),
        (0.25, ["1/N"]),
        (32.0, ["B"]),
        (8.0, ["b"]),
        (0.125, ["1/b"]),
        (1 / 32, ["1/B"]),
        (16.0, ["N^2"]),
        (1 / 16, ["1/N^2"]),
        (1.0, []),
        (4.0 * (1 + 0.5e-4), ["N"]),
        (4.0 * (1 + 2e-4), []),
    ],
)
def test_a_factor_has_the_names_of_the_jobs_numbers(factor, names):
    assert factor_names(factor, 4, 32) == names


def test_numbers_of_one_value_share_a_factor():
    assert factor_names(4.0, 4, 16) == ["N", "b"]
    assert factor_names(4.0, 0, 0) == []


def test_the_reduction_that_explains_the_most_is_taken_where_clipping_hides_it():
    forms = {CombinedForm("mean", "combined", "norm", 1.0): 0.0, CombinedForm("sum", "combined", "norm", 1.0): 0.0}
    fits = (combined_fit({CombinedForm("mean"): 0.0}), combined_fit(forms))
    left = step_record(gradients=REPLICAS, combined={"w": [2.0, 2.0]})
    right = step_record(gradients=times(0.5), combined={"w": [1.0, 1.0]})
    evidence = made_up_evidence([compared_step(left, right)], Context(replicas=2), combined_fits=fits)
    assert fit_gradient_factors(evidence).reduction == 2.0  # 0.5 in each replica, summed: nothing is left to explain


@pytest.mark.parametrize("share, total", [(0.5, 1.0), (1.0, 1.0), (0.25, 0.5), (2.0, 2.0)])
def test_an_unknown_form_may_sum_shares_of_the_loss(share, total):
    fits = (combined_fit({CombinedForm("mean"): 0.0}), combined_fit({}))  # such as shares that are clipped, then summed
    left = step_record(gradients=REPLICAS, combined={"w": [2.0, 2.0]})
    right = step_record(gradients=times(share), combined={"w": [1.0, 0.0]})
    evidence = made_up_evidence([compared_step(left, right)], Context(replicas=2), combined_fits=fits)
    assert fit_gradient_factors(evidence).total == total


def test_a_gradient_that_is_not_finite_leaves_nothing_to_be_explained_by_a_factor():
    broken = [{"w": [8.0, 0.0]}, {"w": [0.0, float("nan")]}]
    assert factors_of([2.0, 2.0], [4.0, 4.0], broken) is None
    assert factors_of([2.0, 2.0], [4.0, 4.0], times(2.0)).replica == 2.0
