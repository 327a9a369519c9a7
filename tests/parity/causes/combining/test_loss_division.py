from parity.causes.basics.cause import MEDIUM
from parity.causes.combining.loss_division import loss_divided_twice, loss_not_divided
from parity.diagnosis.candidates.combined_forms import CombinedForm
from parity.diagnosis.context.job_context import Context
from tests.parity.causes.facts import FOUR_REPLICAS, combined_fit, gradient_factors
from tests.parity.step_records import compared_step, made_up_evidence, step_record

MEAN, SUM = CombinedForm("mean"), CombinedForm("sum")


def mean_and_sum(left_form, right_form, right_loss, borrowed=False):
    steps = [compared_step(step_record(losses=[2.0] * 4), step_record(losses=[right_loss] * 4))]
    fits = combined_fit(left_form), combined_fit(right_form, borrowed=borrowed)
    return loss_not_divided(made_up_evidence(steps, FOUR_REPLICAS, gradient_factors=None, combined_fits=fits))


def test_a_sum_for_a_mean_shows_even_where_gradients_cannot_be_compared():
    found = mean_and_sum(MEAN, SUM, right_loss=2.0)
    assert found.confidence == MEDIUM
    assert found.sentence == "The port sums its replicas' gradients where legacy averages its towers': 4 x."


def test_a_sum_of_shares_is_no_sum_for_a_mean():
    assert mean_and_sum(MEAN, SUM, right_loss=0.5) is None
    assert mean_and_sum(MEAN, MEAN, right_loss=2.0) is None
    assert mean_and_sum(SUM, SUM, right_loss=2.0) is None
    assert mean_and_sum(MEAN, SUM, right_loss=2.0, borrowed=True) is None


def test_keras_three_is_named_beside_a_second_division():
    quarter = gradient_factors(0.25)
    about = {"right": {"keras": "3.10.0"}}
    context = Context(replicas=4, global_batch=32, about=about)
    assert "Keras 3.10.0" in loss_divided_twice(made_up_evidence(context=context, gradient_factors=quarter)).because
    plain = made_up_evidence(context=FOUR_REPLICAS, gradient_factors=quarter)
    assert "Keras" not in loss_divided_twice(plain).because
