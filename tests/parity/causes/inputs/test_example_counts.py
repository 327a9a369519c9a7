import dataclasses
import math

import pytest

from parity.causes.basics.cause import HIGH, MEDIUM
from parity.causes.inputs import example_counts
from parity.diagnosis.context.job_context import Context
from tests.parity.causes.facts import CLEAN, batch, replica_gradient, step_gradients
from tests.parity.step_records import compared_step, made_up_evidence, made_up_state, step_record

TWO_OF_EIGHT = Context(replicas=2, global_batch=16)
EPS = 2.0**-23
CRITERIA = {cause.id: cause.criterion for cause in example_counts.CAUSES}
WHOLE = [1.0, 1.0]


def recognized(*steps, context=TWO_OF_EIGHT, gradients=None, batches=()):
    """The causes that steps with these factors of the two replicas show."""
    gradients = step_gradients(*steps) if gradients is None else gradients
    evidence = made_up_evidence((), context, gradients=gradients, batches=list(batches))
    findings = {name: criterion(evidence) for name, criterion in CRITERIA.items()}
    return {name: finding for name, finding in findings.items() if finding is not None}


@pytest.mark.parametrize("steps", [(), (WHOLE, WHOLE), (WHOLE, [1.0 + 60 * EPS, 1.0])])
def test_equal_gradients_are_no_cause(steps):
    assert recognized(*steps) == {}


def test_parts_of_the_batch_that_vary_are_examples_that_count():
    found = recognized([0.5, 0.25], [0.75, 0.5], WHOLE)
    assert list(found) == ["NONZERO_WEIGHTS_MEAN"]
    assert "n / 8 of legacy's" in found["NONZERO_WEIGHTS_MEAN"].sentence
    assert "(4, 2 in the first such step)" in found["NONZERO_WEIGHTS_MEAN"].sentence


@pytest.mark.parametrize(
    "steps",
    [
        ([0.5, 0.5], [0.5, 0.5]),  # one number: a factor
        ([0.5, 0.25], [0.3, 0.5]),  # 2.4 of 8 examples
        ([0.5, 1.5], [0.75, 0.5]),  # more than all
        ([0.5, float("nan")], [0.75, 0.5]),
    ],
)
def test_one_part_or_no_whole_numbers_are_no_examples_that_count(steps):
    assert "NONZERO_WEIGHTS_MEAN" not in recognized(*steps)


def test_a_part_is_a_whole_number_within_two_in_a_thousand():
    assert "NONZERO_WEIGHTS_MEAN" in recognized([0.5 + 1.9e-3 / 8, 0.25])
    assert "NONZERO_WEIGHTS_MEAN" not in recognized([0.5 + 2.1e-3 / 8, 0.25])


def test_noise_around_one_is_no_number_of_examples():
    noisy = [1.0 + 100 * EPS, 1.0 - 80 * EPS]
    assert recognized(noisy, WHOLE, WHOLE) == {}
    assert recognized(noisy, [1.0 - 90 * EPS, 1.0], WHOLE) == {}
    assert list(recognized([0.5, 1.0], WHOLE, WHOLE)) == ["SHORT_BATCH_FIXED_GBS"]


def test_parts_of_a_single_example_are_none():
    assert recognized([0.5, 0.25], context=Context(replicas=2, global_batch=2)) == {}


def test_a_short_batch_over_the_full_size_differs_in_some_steps():
    found = recognized(WHOLE, WHOLE, [0.5, 0.5], WHOLE)
    assert list(found) == ["SHORT_BATCH_FIXED_GBS"]
    assert found["SHORT_BATCH_FIXED_GBS"].sentence == (
        "In 1 of 4 steps (first at step 2) every gradient is 0.5 of legacy's: a short batch of 8 examples is divided "
        "by the full batch's 16."
    )
    assert found["SHORT_BATCH_FIXED_GBS"].confidence == MEDIUM and found["SHORT_BATCH_FIXED_GBS"].ambiguous


@pytest.mark.parametrize("size, confidence", [(4, HIGH), (8, MEDIUM)])
def test_a_short_batch_that_is_recorded_is_sure(size, confidence):
    batches = [batch(0, same=True, sizes=((8, 8), (8, 8))), batch(1, same=True, sizes=((size, size), (size, size)))]
    found = recognized(WHOLE, [0.5, 0.5], batches=batches)["SHORT_BATCH_FIXED_GBS"]
    assert (found.confidence, found.ambiguous) == (confidence, confidence == MEDIUM)


@pytest.mark.parametrize("steps", [([0.5, 0.25], [0.75, 0.5]), (WHOLE, [0.5, 0.5]), (WHOLE, [1.5, 0.75])])
@pytest.mark.parametrize("loss, named", [(1.0, False), (0.5, True), (math.nan, True)])
def test_gradients_with_factors_that_the_losses_lack_are_no_means(steps, loss, named):
    gradients = [
        entry if entry.data == 1 else dataclasses.replace(entry, loss=loss) for entry in step_gradients(*steps)
    ]
    assert bool(recognized(gradients=gradients)) == named


@pytest.mark.parametrize("factors", [[0.0, 1.0], [0.0, 0.5], [math.nan, 1.0], [-1.0, 1 / 3]])
def test_a_replica_without_a_gradient_has_no_uneven_mean(factors):
    assert "MEAN_OF_UNEVEN_MEANS" not in recognized(WHOLE, factors)


def test_short_batches_are_at_most_half_of_the_steps():
    assert "SHORT_BATCH_FIXED_GBS" in recognized([0.5, 0.5], WHOLE)
    assert "SHORT_BATCH_FIXED_GBS" not in recognized([0.5, 0.5], [0.5, 0.5], WHOLE)
    assert "SHORT_BATCH_FIXED_GBS" not in recognized([0.3, 0.5], WHOLE)


def test_uneven_means_have_reciprocals_that_average_one():
    found = recognized(WHOLE, [1.5, 0.75], WHOLE)  # 2/3 and 4/3 of the even share
    assert list(found) == ["MEAN_OF_UNEVEN_MEANS"]
    assert "the replicas' gradients are 1.5, 0.75 x legacy's" in found["MEAN_OF_UNEVEN_MEANS"].sentence


@pytest.mark.parametrize("steps", [(WHOLE, [1.5, 0.8]), ([1.5, 0.75],), (WHOLE, [1.0004, 0.9996])])
def test_other_factors_factors_in_every_step_or_nearly_even_ones_are_no_uneven_means(steps):
    assert "MEAN_OF_UNEVEN_MEANS" not in recognized(*steps)


def test_factors_count_only_where_examples_are_the_same_and_fits_are_clean():
    steps = (WHOLE, [0.5, 0.5])
    assert recognized(*steps, batches=[batch(same=True)]) != {}
    assert recognized(*steps, batches=[batch(same=False)]) == {}
    assert recognized(*steps, batches=[batch(same=False, sizes=((8, 8), (4, 4)))]) != {}
    limit = 4 * made_up_evidence().clean_residual
    for residual, expected in ((CLEAN, True), (0.9 * limit, True), (1.1 * limit, False), (float("nan"), True)):
        gradients = [replica_gradient(0, 0), replica_gradient(1, 0, data=0.5, residual=residual, loss=0.5)]
        assert bool(recognized(gradients=gradients)) == expected


def losses_of(left, right, weights=None):
    after = made_up_state(weights)
    step = compared_step(step_record(3, losses=left), step_record(3, losses=right, state=after))
    return example_counts.empty_replica(made_up_evidence([step]))


def test_a_loss_that_is_not_a_number_beside_finite_weights_is_an_empty_replica():
    found = losses_of([1.0, 2.0], [1.0, math.nan])
    assert found.sentence.startswith("The loss of replica 1 is not a number at step 3 and all weights stay finite")


def test_finite_losses_legacy_s_own_nan_and_spoiled_weights_are_no_empty_replica():
    assert losses_of([1.0, 2.0], [1.0, 2.0]) is None
    assert losses_of([1.0, math.nan], [1.0, math.nan]) is None
    assert losses_of([1.0], [1.0, math.nan]) is None
    assert losses_of([1.0, 2.0], [1.0, math.nan], {"w": [math.nan, 1.0]}) is None


def test_an_empty_replica_s_missing_share_is_no_short_batch():
    steps = [compared_step(step_record(losses=[1.0]), step_record(losses=[math.nan]))]
    evidence = made_up_evidence(steps, TWO_OF_EIGHT, gradients=step_gradients(WHOLE, [0.5, 0.5]), batches=[])
    assert example_counts.short_batch_fixed_gbs(evidence) is None
