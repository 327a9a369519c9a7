from parity.diagnosis.context.job_context import Context
from parity.diagnosis.summary import summarize_facts
from tests.parity.step_records import compared_step, made_up_evidence, made_up_state, step_record
from workloads import optimizers

REPLICAS = [{"w": [4.0, 0.0]}, {"w": [0.0, 4.0]}]
MEAN = {"w": [2.0, 2.0]}


def lines(left, right=None, context=None, **states):
    return summarize_facts(made_up_evidence([compared_step(left, right, **states)], context))


def test_equal_sides_agree():
    record = step_record(gradients=REPLICAS, combined=MEAN, losses=[1.0, 1.0])
    assert lines(record) == [
        "gradients agree to 0.0e+00 in steps from the same state",
        "legacy's combined gradient is the mean of the replicas' gradients (residual 0.0e+00)",
        "the port's combined gradient is the mean of the replicas' gradients (residual 0.0e+00)",
    ]


def test_gradients_that_differ_are_described_by_factor_place_and_loss():
    left = step_record(gradients=REPLICAS, losses=[1.0, 2.0])
    right = step_record(gradients=[{"w": [8.0, 0.0]}, {"w": [0.0, 12.0]}], losses=[2.0, 2.0])
    assert lines(left, right) == [
        "gradients are 2 to 3 x legacy's, residual up to 0.0e+00 (step 0, replica 0)",
        "losses are 1 to 2 x legacy's",
        "most of it in w: 3 x, residual 0.0e+00",
    ]


def test_records_without_gradients_say_so():
    assert lines(step_record()) == ["no step from the same state shows gradients on both sides"]


def test_initial_values_and_batches_that_differ_are_counted():
    left, right = step_record(examples=[[1, 2]]), step_record(examples=[[1, 3]])
    found = lines(left, right, left_before=made_up_state(), right_before=made_up_state({"w": [1.0, 3.0]}))
    assert found[:2] == [
        "1 initial value differs, first w",
        "other batches in 1 of 1 step, first at step 0: 50% of the examples are shared",
    ]


def test_a_combined_gradient_that_no_form_explains_has_its_best_weights():
    found = lines(step_record(gradients=REPLICAS, combined={"w": [4.0, 0.0]}))
    assert "legacy's combined gradient is no mean or sum of its replicas' gradients" in found
    assert any(line.startswith("the best weights of a sum, 1, ") for line in found)


def test_learning_rates_that_differ_are_listed():
    found = lines(step_record(learning_rate=0.5), step_record(learning_rate=0.25))
    assert "learning rates 0.25 against 0.5" in found
    assert not any("learning rates" in line for line in lines(step_record()))


def test_updates_are_compared_with_the_optimizers_rule():
    after = made_up_state({"w": [0.0, 1.0]})  # 1 - 0.5 x 2, 2 - 0.5 x 2
    twice = made_up_state({"w": [-1.0, 0.0]})
    context = Context(replicas=2, optimizer=optimizers.GradientDescent())
    found = lines(step_record(combined=MEAN, state=after), step_record(combined=MEAN, state=twice), context)
    assert "legacy's weights change by 1 x the update of its rule, within 0.0 roundings" in found
    assert any(line.startswith("the port's weights change by 2 x the update of its rule, within ") for line in found)


def test_statistics_that_differ_after_the_first_step_are_measured():
    left, right = (
        step_record(state=made_up_state(statistics={"mean": [value]}), proposals=[{"mean": [1.0]}])
        for value in (1.0, 1.5)
    )
    before = made_up_state(statistics={"mean": [0.0]})
    assert "statistics differ by 5.0e-01 after the first step" in lines(left, right, left_before=before)
    assert not any("statistics" in line for line in lines(left, left_before=before))
    assert not any("statistics" in line for line in lines(left, step_record(), left_before=before))


def test_no_update_is_said_in_words_and_not_in_numbers_that_are_none():
    context = Context(replicas=2, optimizer=optimizers.GradientDescent())
    at_rest = step_record(combined=MEAN, state=made_up_state(), learning_rate=0.0)
    found = lines(at_rest, at_rest, context)
    assert "legacy's rule changes no weight" in found
    assert not any("nan" in line for line in found)
    after, bad = made_up_state({"w": [0.0, 1.0]}), made_up_state({"w": [float("nan"), 1.0]}, step=2)
    steps = [
        compared_step(step_record(0, combined=MEAN, state=after)),
        compared_step(step_record(1, combined=MEAN, state=bad), left_before=after),
    ]
    found = summarize_facts(made_up_evidence(steps, context))
    assert "the port's weights change by 1 x the update of its rule, with values that are not finite" in found
