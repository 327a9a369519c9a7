import numpy as np
import pytest

from parity.causes.basics.cause import HIGH
from parity.causes.gradients import reported_values
from parity.diagnosis.combined_gradients import CombinedForm
from parity.diagnosis.context.job_context import Context
from tests.parity.causes.facts import combined_fit, gradient_factors, replica_gradient, total_factor
from tests.parity.causes.stub_step import change_of, combine, faulty_step, forward_backward
from tests.parity.step_records import compared_step, made_up_evidence, step_record
from workloads import optimizers

TWO = Context(replicas=2, global_batch=16)
ADAM = Context(replicas=2, global_batch=16, optimizer=optimizers.Adam())


def losses_evidence(left, right, factors=None, ratio=2.0, finite=(True, True)):
    """Evidence of one step whose replicas report these losses and have equal gradients unless given."""
    factors = gradient_factors() if factors is None else factors
    return made_up_evidence(
        [compared_step(step_record(losses=left), step_record(losses=right))],
        TWO,
        gradient_factors=factors,
        gradients=[replica_gradient(loss=ratio, loss_finite=finite)],
    )


@pytest.mark.parametrize(
    "right, text",
    [
        ([2.0, 2.0], "the first replica's alone"),
        ([8.0, 8.0], "the sum over the replicas"),
        ([4.0, 4.0], "the mean over the replicas, for each of them"),
        ([1.0, 3.0], "0.5 x legacy's (1/N)"),
        ([6.0, 18.0], "3 x legacy's"),
    ],
)
def test_another_reported_loss_is_named(right, text):
    found = reported_values.reported_loss(losses_evidence([2.0, 6.0], right))
    assert found.sentence == f"The gradients agree and only the reported loss differs: it is {text}."
    assert found.confidence == HIGH


def test_losses_without_one_ratio_or_of_other_replicas_are_not_explained():
    assert reported_values.reported_loss(losses_evidence([2.0, 6.0], [1.0, 5.0])) is None
    assert reported_values.reported_loss(losses_evidence([2.0, 6.0], [2.0])) is None


def test_equal_losses_are_no_cause():
    rounding = 2.0**-22
    assert reported_values.reported_loss(losses_evidence([2.0, 6.0], [2.0, 6.0], ratio=1.0 + rounding)) is None
    assert reported_values.reported_loss(losses_evidence([2.0, 6.0], [2.0, 2.0], ratio=1.0 + 4 * rounding)) is not None


def test_a_loss_differs_alone_only_where_gradients_agree():
    left, right = [2.0, 6.0], [2.0, 2.0]
    assert reported_values.reported_loss(losses_evidence(left, right, gradient_factors(1.00002))) is None
    assert reported_values.reported_loss(losses_evidence(left, right, gradient_factors(decay={"w": [0.1]}))) is None
    assert reported_values.reported_loss(losses_evidence(left, right, finite=(True, False))) is None


def hidden(factors, context=ADAM, derived=True):
    fits = combined_fit(), combined_fit(derived=derived)
    return reported_values.hidden_scale(made_up_evidence((), context, gradient_factors=factors, combined_fits=fits))


def test_adam_s_slots_show_a_factor_and_its_square():
    found = hidden(total_factor(3.0))
    assert "3 x legacy's (m x 3, v x 9)" in found.sentence
    assert found.confidence == HIGH


def test_a_factor_is_hidden_only_by_adam_and_only_without_gradients():
    assert hidden(total_factor(1.0)) is None
    assert hidden(total_factor(3.0), TWO) is None
    assert hidden(total_factor(3.0), derived=False) is None
    fits = combined_fit(), None
    no_port = made_up_evidence((), ADAM, gradient_factors=total_factor(3.0), combined_fits=fits)
    assert reported_values.hidden_scale(no_port) is None


def test_shares_that_are_summed_are_recognized_and_are_no_bug():
    found = reported_values.loss_share(made_up_evidence(gradient_factors=gradient_factors(0.25, 4.0)))
    assert "0.25 x legacy's and the reduction makes up for it (4 x)" in found.sentence
    assert not next(cause for cause in reported_values.CAUSES if cause.id == "LOSS_SHARE").bug


@pytest.mark.parametrize(
    "factors",
    [
        None,
        gradient_factors(),
        gradient_factors(1.00005, 1 / 1.00005),
        gradient_factors(0.25, 2.0),
        gradient_factors(0.25, 4.0, decay={"w": [0.5]}),
        total_factor(1.0),
    ],
)
def test_other_factors_are_no_shares(factors):
    assert reported_values.loss_share(made_up_evidence(gradient_factors=factors)) is None


@pytest.mark.parametrize(
    ("loss", "forms", "is_share"),
    [
        (1.0, [CombinedForm("mean"), CombinedForm("sum")], False),
        (0.5, [CombinedForm("mean"), CombinedForm("sum")], True),
        (1.0, [CombinedForm("sum")], True),
    ],
)
def test_a_factor_that_clipping_hides_is_a_share_only_if_the_loss_has_it_too(loss, forms, is_share):
    evidence = made_up_evidence(
        (),
        TWO,
        gradient_factors=gradient_factors(0.5, 2.0),
        gradients=[replica_gradient(data=0.5, loss=loss)],
        combined_fits=(combined_fit(CombinedForm("mean")), combined_fit(*forms)),
    )
    assert (reported_values.loss_share(evidence) is not None) == is_share


def test_faults_change_what_a_record_reports():
    def reported(fault):
        record = step_record(losses=[2.0, 6.0], gradients=[{"w": [1.0]}], combined={"w": [1.0]})
        for change in change_of(fault).records:
            change(record)
        return record

    assert np.array_equal(reported("first_replicas_loss_reported").losses, [2.0, 2.0])
    assert np.array_equal(reported("shares_of_the_loss_reported").losses, [1.0, 3.0])
    assert np.array_equal(reported("sum_of_losses_reported").losses, [8.0, 8.0])
    hidden_record = reported("slots_show_a_sum")
    assert (hidden_record.gradients, hidden_record.combined) == ([], {})


def test_summed_shares_divide_the_loss_and_sum_the_gradients():
    step = faulty_step("shares_summed")
    assert forward_backward(step, {"w": 8.0}, loss=2.0) == (0.5, {"w": 2.0})
    assert combine(step, {"w": 2.0}) == {"w": 8.0}
