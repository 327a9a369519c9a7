import numpy as np
import pytest

from parity.diagnosis.candidates.combined_forms import CombinedForm
from parity.diagnosis.combined_gradients import fit_combined_gradients
from parity.diagnosis.context.job_context import Context
from tests.parity.step_records import compared_step, made_up_evidence, made_up_state, step_record
from workloads import optimizers
from workloads.workload import Clip

#: Two replicas' gradients, of lengths 5 and 10, and neither along the other.
REPLICAS = [{"w": [3.0, 4.0]}, {"w": [-8.0, 6.0]}]
MEAN, SUM = [-2.5, 5.0], [-5.0, 10.0]


def fits_of(left, right=None, context=None, gradients=REPLICAS, right_gradients=None):
    """(left, right) fits of one step with these combined gradients; the right's are the left's unless given."""
    sides = (
        step_record(gradients=gradients, combined={"w": left}),
        step_record(
            gradients=gradients if right_gradients is None else right_gradients,
            combined={} if right == [] else {"w": left if right is None else right},
        ),
    )
    return fit_combined_gradients(made_up_evidence([compared_step(*sides)], context or Context(replicas=2)))


@pytest.mark.parametrize("combined, form, weight", [(MEAN, CombinedForm("mean"), 0.5), (SUM, CombinedForm("sum"), 1.0)])
def test_a_mean_and_a_sum_are_distinguished(combined, form, weight):
    left, _ = fits_of(combined)
    assert left.first == form
    assert left.fits[form] == 0.0
    assert left.weight == weight
    np.testing.assert_allclose(left.coefficients[0].coefficients, [weight, weight], rtol=1e-12)
    assert left.norms == [np.linalg.norm(combined)]
    assert (left.derived, left.borrowed, left.steps) == (False, False, 1)


def test_one_replicas_gradient_alone_is_no_form():
    left, _ = fits_of([3.0, 4.0])
    assert left.first is None
    assert np.isnan(left.weight)
    np.testing.assert_allclose(left.coefficients[0].coefficients, [1.0, 0.0], atol=1e-12)


@pytest.mark.parametrize(
    "combined, form",
    [
        ([[-1.0, 1.0], [1.0, 0.5]], CombinedForm("mean", "combined", "value", 1.0)),
        ([[0.0, 1.0], [1.0, 0.5]], CombinedForm("mean", "tower", "value", 1.0)),
        ([[-1.0, 1.0], [1.0, 0.25]], None),  # 0.25 is no replica's, nor their mean
    ],
)
def test_clipping_by_value_is_found_by_the_largest_element_of_all_steps(combined, form):
    gradients = [REPLICAS, [{"w": [3.0, 0.5]}, {"w": [2.0, 0.5]}]]
    steps = [step_record(i, gradients=gradients[i], combined={"w": value}) for i, value in enumerate(combined)]
    evidence = made_up_evidence([compared_step(step, step) for step in steps], Context(replicas=2))
    assert fit_combined_gradients(evidence)[0].first == form


def test_clipping_after_combining_is_found_without_being_told():
    left, _ = fits_of([-1.25, 2.5], context=Context(replicas=2))  # half of the mean
    assert left.first.where == "combined"
    assert left.first.limit == np.linalg.norm([1.25, 2.5])
    assert left.weight == 0.25


def test_a_limit_is_found_only_where_more_than_one_of_many_steps_shows_it():
    def left_of(*combined):
        records = [step_record(step, gradients=REPLICAS, combined={"w": value}) for step, value in enumerate(combined)]
        evidence = made_up_evidence([compared_step(record, record) for record in records], Context(replicas=2))
        return fit_combined_gradients(evidence)[0]

    half = [-1.25, 2.5]
    assert left_of(half, half).first.limit == np.linalg.norm(half)
    assert left_of(half, [-0.625, 1.25]).first is None
    smaller = [{"w": [0.375, 0.5]}, {"w": [-1.0, 0.75]}]
    below = step_record(1, gradients=smaller, combined={"w": [-0.3125, 0.625]})
    first = step_record(0, gradients=REPLICAS, combined={"w": half})
    evidence = made_up_evidence([compared_step(first, first), compared_step(below, below)], Context(replicas=2))
    assert fit_combined_gradients(evidence)[0].first is None  # one step's factor, and no limit


def test_clipping_before_combining_is_found_without_being_told():
    left, _ = fits_of([-0.5, 5.0])  # mean of (3, 4) and (-4, 3), both of length 5, is (-0.5, 3.5): not this
    assert left.first is None
    left, _ = fits_of([-0.5, 3.5])
    assert CombinedForm("mean", "tower", "global_norm", 5.0) in left.fits


def test_the_jobs_own_form_is_tried_first():
    context = Context(replicas=2, combine="mean", clip=Clip(16.0, "combined", "norm"))
    left, right = fits_of(MEAN, context=context)  # a limit that clips nothing explains it as well as none does
    assert left.first == CombinedForm("mean", "combined", "norm", 16.0)
    assert right.first == left.first
    assert CombinedForm("mean") in left.fits


def test_a_job_without_clipping_states_its_reduction():
    left, _ = fits_of(SUM, context=Context(replicas=2, combine="sum"))
    assert list(left.fits) == [CombinedForm("sum")]
    left, _ = fits_of(MEAN, context=Context(replicas=2, combine="sum"))  # stated, but not what the numbers show
    assert left.first == CombinedForm("mean")


def test_the_right_is_first_tried_with_the_lefts_form():
    parallel = [{"w": [6.0, 8.0]}, {"w": [6.0, 8.0]}]  # clipping at 5 before combining does what it does after
    left, right = fits_of([-0.5, 3.5], [3.0, 4.0], right_gradients=parallel)
    assert left.first == right.first == CombinedForm("mean", "tower", "global_norm", 5.0)
    left, _ = fits_of([3.0, 4.0], gradients=parallel)
    assert left.first == CombinedForm("mean", "combined", "global_norm", 5.0)


@pytest.mark.parametrize("error, explained", [(2.0**-18, True), (2.0**-10, False)])
def test_a_form_explains_up_to_the_clean_residual(error, explained):
    left, _ = fits_of([-2.5, 5.0 * (1 + error)])
    assert (left.first is not None) is explained


def test_every_step_must_be_explained():
    steps = [
        compared_step(step_record(0, gradients=REPLICAS, combined={"w": MEAN})),
        compared_step(step_record(1, gradients=REPLICAS, combined={"w": SUM})),
    ]
    left, _ = fit_combined_gradients(made_up_evidence(steps))
    assert left.first is None
    assert left.steps == 2
    assert np.isnan(left.weight)
    assert [fit.factor for fit in left.weights] == [0.5, 1.0]


def test_gradients_that_the_right_does_not_show_are_borrowed_from_the_left():
    _, right = fits_of(MEAN, SUM, right_gradients=[])
    assert right.borrowed
    assert right.first == CombinedForm("sum")


def test_gradients_are_not_borrowed_across_different_states():
    left = step_record(gradients=REPLICAS, combined={"w": MEAN})
    right = step_record(combined={"w": MEAN})
    step = compared_step(left, right, made_up_state(), made_up_state({"w": [5.0, 5.0]}))
    assert fit_combined_gradients(made_up_evidence([step]))[1] is None


def test_a_combined_gradient_that_is_not_shown_is_worked_out_from_the_update():
    state = made_up_state({"w": [1.0 + 1.25, 2.0 - 2.5]})  # learning rate 0.5 times the mean
    record = step_record(gradients=REPLICAS, state=state)
    evidence = made_up_evidence([compared_step(record)], Context(replicas=2, optimizer=optimizers.GradientDescent()))
    left, _ = fit_combined_gradients(evidence)
    assert left.derived
    assert left.first == CombinedForm("mean")
    assert fit_combined_gradients(made_up_evidence([compared_step(record)]))[0] is None  # optimizer not known


@pytest.mark.parametrize("combined", [{"w": [np.nan, 1.0]}, {"w": [1.0]}, {"other": [1.0]}])
def test_steps_that_cannot_be_fitted_are_left_out(combined):
    record = step_record(gradients=REPLICAS, combined=combined)
    assert fit_combined_gradients(made_up_evidence([compared_step(record)])) == (None, None)


def test_pytorchs_epsilon_is_found_beside_a_norm_that_is_not_large():
    context = Context(replicas=2, combine="mean", clip=Clip(0.25, "combined"))
    small = [{"w": [3.0 / 16, 4.0 / 16]}, {"w": [-4.0 / 16, 3.0 / 16]}]
    mean = np.array([-0.5, 3.5]) / 16 * 2
    gradients = [{"w": (np.asarray(g["w"]) * 2).tolist()} for g in small]
    norm = np.linalg.norm(mean)
    plain, with_epsilon = mean * 0.25 / norm, mean * 0.25 / (norm + 1e-6)
    left, right = fits_of(
        plain.tolist(), with_epsilon.tolist(), gradients=gradients, right_gradients=gradients, context=context
    )
    assert left.first == CombinedForm("mean", "combined", "global_norm", 0.25)
    assert right.first == CombinedForm("mean", "combined", "global_norm", 0.25, 1e-6)
    assert left.first not in right.fits and right.first not in left.fits
