import dataclasses
from types import SimpleNamespace
from unittest import mock

import pytest
import tensorflow as tf

from modern.mirrored.step.replica_step import ReplicaStep
from parity.causes.basics.cause import HIGH, LOW, MEDIUM
from parity.causes.gradients import numerics
from parity.diagnosis.candidates.combined_forms import CombinedForm
from parity.diagnosis.context.job_context import Context
from tests.cases import Dyadic, Everything
from tests.parity.causes.facts import FOUR_REPLICAS, batch, combined_fit, replica_gradient
from tests.parity.causes.stub_step import FAULTS, faulty_step
from tests.parity.step_records import compared_step, made_up_evidence, made_up_state, step_record
from workloads import optimizers

MEAN = CombinedForm("mean")
NAN = float("nan")


EXPLAINED, UNEXPLAINED = combined_fit(MEAN), combined_fit(shares=[[1.0, 2.0]])


def nondet(left=EXPLAINED, right=UNEXPLAINED, repeat_difference=0.5):
    evidence = made_up_evidence((), FOUR_REPLICAS, combined_fits=(left, right), repeat_difference=repeat_difference)
    return numerics.nondet(evidence)


def test_a_reduction_that_does_not_repeat_is_named():
    found = nondet()
    assert found.confidence == HIGH
    assert found.sentence == (
        "The port's reduction gives another result each time: the same step from the same state differs by 5.0e-01, "
        "and no sum of the replicas' gradients explains it."
    )
    assert found.because.endswith("legacy's reduction is explained to 1.0e-08")


@pytest.mark.parametrize("difference, named", [(1.1e-5, True), (0.9e-5, False), (0.0, False)])
def test_a_repeated_step_differs_by_more_than_rounding(difference, named):
    assert (nondet(repeat_difference=difference) is not None) == named


def test_a_reduction_that_is_explained_is_no_cause():
    one_factor = combined_fit()
    one_factor.weights.append(SimpleNamespace(factor=0.5, residual=0.0))
    assert nondet(right=combined_fit(MEAN)) is None
    assert nondet(right=one_factor) is None
    assert nondet(left=combined_fit()) is None
    assert nondet(left=None) is None
    assert nondet(right=None) is None


def tf32(*gradients, batches=(), masks=None, about=None):
    context = Context(replicas=2, global_batch=8, about=about or {})
    evidence = made_up_evidence((), context, gradients=list(gradients), batches=list(batches), masks=masks)
    return numerics.tf32(evidence)


def noisy(residual=1e-3, signs=(1, -1), loss=1e-4, data=1.0):
    """Gradients with a residual each, and losses that are off by `loss` in the direction of the signs."""
    return [replica_gradient(replica=i, data=data, residual=residual, loss=1 + s * loss) for i, s in enumerate(signs)]


def test_random_errors_of_the_size_of_tensor_float_32_are_named():
    found = tf32(*noisy())
    assert found.confidence == MEDIUM
    assert found.sentence.startswith("Losses and gradients differ by 1e-03 without a factor or a pattern")
    assert found.because.startswith("median residual of 2 gradients;")


@pytest.mark.parametrize(
    "residual, confidence",
    [(1.9e-5, None), (2.1e-5, LOW), (4.9e-5, LOW), (5.1e-5, MEDIUM), (4.9e-3, MEDIUM), (5.1e-3, LOW), (0.29, LOW)]
    + [(0.31, None), (NAN, None)],
)
def test_the_size_of_errors_in_reduced_precision(residual, confidence):
    found = tf32(*noisy(residual))
    assert (found.confidence if found else None) == confidence


def test_losses_that_differ_in_one_direction_are_less_likely_random():
    assert tf32(*noisy(signs=(1, 1))).confidence == LOW
    assert tf32(*noisy(signs=(1, 1)), about={"right": {"precision": "TF32 on"}}).confidence == MEDIUM
    assert tf32(*noisy(signs=(1, 1)), about={"right": {"precision": "float32"}}).confidence == LOW


@pytest.mark.parametrize("known, named", [({"loss": 0.9e-2}, True), ({"loss": 1.1e-2}, False)])
def test_losses_stay_near_legacy_s(known, named):
    assert (tf32(*noisy(**known)) is not None) == named


@pytest.mark.parametrize("data, named", [(1.09, True), (1.11, False), (0.89, False)])
def test_gradients_have_no_large_factor(data, named):
    assert (tf32(*noisy(data=data)) is not None) == named


def test_other_inputs_are_no_reduced_precision():
    assert tf32() is None
    assert tf32(*noisy(), batches=[batch(same=False)]) is None
    assert tf32(*noisy(), batches=[batch(same=True)]) is not None
    assert tf32(*noisy(), masks=SimpleNamespace(same=0.5)) is None
    assert tf32(*noisy(), masks=SimpleNamespace(same=1.0)) is not None


def float_order(left, right, **states):
    return numerics.float_order(made_up_evidence([compared_step(step_record(**left), step_record(**right), **states)]))


@pytest.mark.parametrize(
    "kind, value", [("gradients", [{"w": [1.0, 2.0]}]), ("combined", {"w": [1.0, 2.0]}), ("losses", [1.0])]
)
def test_equal_records_do_not_differ_by_rounding(kind, value):
    assert float_order({kind: value}, {kind: value}) is None


def test_a_difference_of_a_few_roundings_is_named():
    found = float_order({"gradients": [{"w": [1.0]}]}, {"gradients": [{"w": [1 + 2.0**-20]}]})
    assert found.confidence == HIGH
    assert found.sentence == (
        "The difference is rounding: in steps from the same state gradients agree to 9.5e-07 of their length, and "
        "in every stage of every step each side's update is the rule's for its own inputs, to a few roundings."
    )


def test_rounding_of_an_update_without_a_rule_is_less_sure():
    """A faulty update of a step that is written as a function may differ by no more than rounding."""
    same = {"gradients": [{"w": [1.0, 1.0]}], "combined": {"w": [1.0, 1.0]}}
    states = [made_up_state({"w": [1.5, 2.5 * (1 + part)]}, step=1) for part in (0, 2.0**-22)]
    found = float_order({**same, "state": states[0]}, {**same, "state": states[1]})
    assert found.confidence == MEDIUM and "No rule of the update is known" in found.sentence


@pytest.mark.parametrize("kind", ["gradients", "combined"])
@pytest.mark.parametrize("error, named", [(2.0**-17, True), (2.0**-16, False)])  # 64 and 128 times epsilon
def test_rounding_is_at_most_a_hundred_times_epsilon(kind, error, named):
    left, right = {"w": [1.0]}, {"w": [1 + error]}
    values = ([left], [right]) if kind == "gradients" else (left, right)
    assert (float_order({kind: values[0]}, {kind: values[1]}) is not None) == named


def test_losses_alone_may_differ_by_rounding():
    assert float_order({"losses": [1.0]}, {"losses": [1 + 2.0**-20]}) is not None
    assert float_order({"losses": [1.0]}, {"losses": [1.5]}) is None


def test_an_update_by_another_constant_is_no_rounding():
    """Both sides' gradients agree to rounding, and the port's slot keeps 0.25 of itself instead of 0.5."""
    context = Context(replicas=1, optimizer=optimizers.Momentum(0.5))
    before = made_up_state({"w": [1.0, 2.0]}, {"w/momentum": [4.0, 8.0]})

    def taken(keep, gradient):
        slot = [keep * 4.0 + gradient, keep * 8.0 + 2.0]
        weights = [1.0 - 0.5 * slot[0], 2.0 - 0.5 * slot[1]]
        state = made_up_state({"w": weights}, {"w/momentum": slot}, step=1)
        values = {"w": [gradient, 2.0]}
        return step_record(gradients=[values], combined=values, state=state)

    for keep, named in ((0.5, True), (0.25, False)):
        step = compared_step(taken(0.5, 1.0), taken(keep, 1 + 2.0**-20), before)
        evidence = made_up_evidence([step], context)
        assert (numerics.float_order(evidence) is not None) == named
        assert [d.name for d in evidence.deviations.found] == ([] if named else ["w/momentum"])


def test_what_cannot_be_judged_is_not_called_rounding():
    weights = made_up_state({"w": [3.0, 4.0]}, step=1)
    step = compared_step(step_record(combined={"w": [1.0]}), step_record(combined={"w": [2.0]}, state=weights))
    step = dataclasses.replace(step, right_before=made_up_state({"w": [5.0, 6.0]}))
    assert float_order({}, {"state": weights}, right_before=made_up_state({"w": [5.0, 6.0]})) is None
    assert made_up_evidence([step]).deviations.unjudged == ["combined gradients", "weights"]


def test_steps_from_other_states_show_no_rounding():
    other = made_up_state({"w": [1.0, 3.0]})
    left, right = {"gradients": [{"w": [1.0]}]}, {"gradients": [{"w": [1 + 2.0**-20]}]}
    assert float_order(left, right, right_before=other) is None


def test_steps_from_weights_that_have_parted_are_named_and_make_it_less_sure():
    first = compared_step(
        step_record(losses=[1.0], gradients=[{"w": [1.0]}]),
        step_record(losses=[1.0], gradients=[{"w": [1 + 2.0**-20]}]),
    )
    far = compared_step(
        step_record(7, losses=[1.0]), step_record(7, losses=[9.0]), right_before=made_up_state({"w": [1.0, 3.0]})
    )
    assert (numerics.float_order(made_up_evidence([first])).confidence) == "high"
    found = numerics.float_order(made_up_evidence([first, far]))
    assert found.confidence == "medium"
    assert found.sentence.endswith(
        "Losses and gradients of 1 step (the first: step 7) could not be compared: the weights had diverged."
    )


def test_only_weights_that_both_sides_have_are_compared():
    left = {"gradients": [{"w": [1.0], "a": [1.0]}], "combined": {"w": [1.0], "a": [2.0]}}
    right = {"gradients": [{"w": [1.0], "b": [5.0]}], "combined": {"w": [1.0], "b": [7.0]}}
    assert float_order(left, right) is None


def test_a_fault_reverses_the_examples():
    with mock.patch.object(ReplicaStep, "_forward_backward", lambda self, local, step, replica, batch: batch):
        made = faulty_step("examples_in_reverse")._forward_backward(None, 0, 0, {"x": [1, 2, 3]})
    assert made == {"x": [3, 2, 1]}


def test_reversed_examples_need_a_workload_without_dropout():
    adapt = FAULTS["examples_in_reverse"].adapt
    assert adapt(Everything()) == Everything(dropout_rate=0.0)
    assert adapt(Dyadic()) == Dyadic()


@pytest.mark.parametrize(
    "value, rounded",
    [
        (1 + 2.0**-10, 1 + 2.0**-10),
        (1 + 2.0**-11, 1 + 2.0**-10),
        (1 + 2.0**-12, 1.0),
        (-(1 + 2.0**-12), -1.0),
        (0.0, 0.0),
    ],
)
def test_tensor_float_32_has_ten_bits_of_mantissa(value, rounded):
    assert numerics.round_to_tensor_float(tf.constant(value)).numpy() == rounded


def test_rounding_lets_the_gradient_through():
    x = tf.constant(1 + 2.0**-12)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = 3.0 * numerics.round_to_tensor_float(x)
    assert tape.gradient(y, x).numpy() == 3.0


def test_a_fault_rounds_the_operands_of_products():
    x = 1 + 2.0**-12

    def healthy_pass(self, local, step, replica, batch):
        product = tf.matmul(tf.constant([[x]]), tf.constant([[x]]), transpose_b=True)
        image = tf.nn.conv2d(tf.fill([1, 1, 1, 1], x), tf.fill([1, 1, 1, 1], x), strides=1, padding="SAME")
        return product.numpy().item(), image.numpy().item()

    step = faulty_step("products_in_tensor_float_32")
    with mock.patch.object(ReplicaStep, "_forward_backward", healthy_pass):
        assert step._forward_backward(None, 0, 0, {}) == (1.0, 1.0)
        assert healthy_pass(step, None, 0, 0, {})[0] > 1.0


def test_a_fault_adds_noise_to_the_combined_gradient():
    combined = {"w": tf.constant([1.0, 2.0])}
    noise = mock.patch.object(tf.random, "normal", lambda shape, dtype: tf.fill(shape, tf.constant(100.0, dtype)))
    with mock.patch.object(ReplicaStep, "_combine", lambda self, context, gradients: dict(gradients)), noise:
        made = faulty_step("reduction_with_noise")._combine(None, combined)
    assert made["w"].numpy().tolist() == [2.0, 4.0]


@pytest.mark.parametrize("devices, named", [("CPU:0, CPU:1", False), ("GPU:0, GPU:1", True), ("", True)])
def test_a_cpu_has_no_products_in_reduced_precision(devices, named):
    assert (tf32(*noisy(), about={"right": {"devices": devices}}) is not None) == named
