import dataclasses
from unittest import mock

import pytest

from parity.causes.basics.cause import HIGH, MEDIUM
from parity.causes.penalties import weight_decay
from parity.diagnosis.context.job_context import Context
from tests.cases import Dyadic, Everything
from tests.parity.causes.facts import gradient_factors, replica_gradient, total_factor
from tests.parity.causes.stub_step import change_of, faulty_step, forward_backward
from tests.parity.step_records import compared_step, made_up_evidence, made_up_state, step_record
from workloads.job import Job
from workloads.workload import Clip

RATE = 0.25


def evidence(factors, decayed=("w",), own=()):
    """`own` are weights that legacy's loss penalizes by itself, at a rate that stands nowhere."""
    context = Context(4, 32, weight_decay=RATE, decayed=decayed, penalized=(*decayed, *own))
    return made_up_evidence((), context, gradient_factors=factors)


def with_ratio(ratio, replica=1.0, reduction=1.0):
    return evidence(gradient_factors(replica, reduction, decay={"w": [(ratio - replica * reduction) * RATE] * 4}))


def test_a_decay_of_other_weights_is_named():
    found = weight_decay.weight_decay_elsewhere(evidence(gradient_factors(decay={"a": [0.5], "b": [0.51]})))
    assert found.sentence == "The port decays 2 weights that legacy does not (a, b), at rate 0.505."
    assert found.confidence == HIGH


@pytest.mark.parametrize(
    "factors",
    [
        gradient_factors(),
        gradient_factors(decay={"w": [0.5]}),
        gradient_factors(decay={"a": [0.5], "b": [0.54]}),
        total_factor(1.0, decay={"a": [0.5]}),
        None,
    ],
)
def test_legacy_s_own_weights_several_rates_and_hidden_replicas_are_no_decay_elsewhere(factors):
    assert weight_decay.weight_decay_elsewhere(evidence(factors)) is None


@pytest.mark.parametrize(
    "decay, named",
    [
        ({"gamma": [0.5]}, True),
        ({"gamma": [-0.5]}, False),  # a decay that is lost
        ({"gamma": [0.5], "kernel": [0.5]}, False),
        ({"kernel": [0.5]}, False),
    ],
)
def test_where_legacys_decayed_weights_are_unknown_a_decay_of_vectors_alone_is_a_new_one(decay, named):
    gradient = replica_gradient(tensors={"gamma": 1.0, "kernel": 1.0})
    left = made_up_state({"gamma": [1.0, 2.0], "kernel": [[1.0, 2.0]]})
    context = Context(replicas=4, global_batch=32, weight_decay=RATE)
    facts = dataclasses.replace(
        made_up_evidence((), context, gradient_factors=gradient_factors(decay=decay), gradients=[gradient]), left=left
    )
    facts.gradient_factors, facts.gradients = gradient_factors(decay=decay), [gradient]
    found = weight_decay.weight_decay_elsewhere(facts)
    assert (found is not None) == named
    if found is not None:
        assert (found.confidence, found.variables) == (MEDIUM, ("gamma",))
        assert found.sentence == "The port decays 1 weight that legacy does not (gamma), at rate 0.5."


def test_another_rate_is_named():
    found = weight_decay.weight_decay_rate(with_ratio(1.25))
    assert (found.sentence, found.confidence) == ("The weight decay is 1.25 x legacy's.", MEDIUM)


@pytest.mark.parametrize("ratio", [1.0, 1.004, 0.004, 2.0, 0.5, 4.0, 8.0, 0.25, 4.0 * 1.004])
def test_a_ratio_that_is_one_nothing_or_another_cause_s_is_no_other_rate(ratio):
    assert weight_decay.weight_decay_rate(with_ratio(ratio)) is None


@pytest.mark.parametrize("ratio", [1.006, 0.006, 2.02, 0.49, 4.0 * 1.006])
def test_a_ratio_beside_those_is_another_rate(ratio):
    assert weight_decay.weight_decay_rate(with_ratio(ratio)) is not None


def test_a_decay_with_the_data_s_factor_has_no_rate_of_its_own():
    assert weight_decay.weight_decay_rate(with_ratio(3.0, replica=3.0)) is None
    assert weight_decay.weight_decay_rate(with_ratio(3.0)) is not None


def test_beside_a_factor_of_the_data_a_decay_agrees_within_two_in_a_thousand():
    assert weight_decay.weight_decay_rate(with_ratio(1.0019, replica=3.0)) is None
    assert weight_decay.weight_decay_rate(with_ratio(1.0021, replica=3.0)) is not None


def test_replicas_with_several_ratios_or_none_have_no_other_rate():
    several = evidence(gradient_factors(decay={"w": [0.0, 0.25, 0.0, 0.25]}))
    assert weight_decay.weight_decay_rate(several) is None
    assert weight_decay.weight_decay_rate(evidence(gradient_factors())) is None


def test_the_model_says_which_weights_it_decays():
    assert weight_decay.decayed_weights(Job(Everything(), 2, 16)) == ("first/weights",)
    assert weight_decay.decayed_weights(Job(Dyadic(), 2, 8)) == ()


def test_faults_of_decay_need_a_workload_with_decay():
    assert weight_decay.decaying(Dyadic()) is None
    assert weight_decay.decaying(Dyadic(weight_decay=RATE, clip=Clip(1.0))) == Dyadic(weight_decay=RATE)
    assert change_of("another_decay_rate").fields[0](Job(Dyadic(weight_decay=RATE), 2, 8)) == {"weight_decay": 0.3125}


def test_every_weight_that_the_model_does_not_decay_is_decayed():
    step = faulty_step("every_weight_decayed")
    with mock.patch.object(weight_decay, "decayed_weights", lambda job: ("w",)):
        made = forward_backward(step, {"w": 5.0, "b": 8.0}, weights={"w": 4.0, "b": 100.0})
    assert made == (1.0, {"w": 5.0, "b": 9.0})  # 8 + 0.01 * 100


@pytest.mark.parametrize(
    "decay, named", [({"w": [-0.5, -0.5]}, True), ({"w": [0.5, 0.5]}, True), ({"w": [0.5, -0.5]}, False), ({}, False)]
)
def test_where_legacys_rate_is_unknown_a_multiple_of_the_weight_is_another_decay(decay, named):
    step = compared_step(step_record(), left_before=made_up_state({"w": [[1.0, 2.0]]}))
    fitted, gradients = gradient_factors(decay=decay), [replica_gradient(tensors={"w": 1.0})]
    facts = made_up_evidence([step], Context(replicas=2, global_batch=32), gradient_factors=fitted, gradients=gradients)
    found = weight_decay.weight_decay_rate(facts)
    assert (found is not None) == named
    if found is not None:
        assert (found.confidence, found.variables) == (MEDIUM, ("w",))
        assert f"({decay['w'][0]:+.4g} x w)" in found.sentence


@pytest.mark.parametrize(
    "values, place",
    [
        ([0.0, 0.5, 0.0], "(+0.5 x w on replica 1 alone)"),
        ([-0.5, -0.5, 1e-12], "(-0.5 x w on replicas 0, 1 alone)"),
        ([1e-12, -0.5, -0.5], None),  # `REG_COLLECTED_ONCE`
        ([0.5, 0.5, 0.5], "(+0.5 x w)"),
        ([0.0, 0.5, 0.25], None),
    ],
)
def test_a_decay_of_some_replicas_is_named_with_them(values, place):
    step = compared_step(step_record(), left_before=made_up_state({"w": [[1.0, 2.0]]}))
    fitted, gradients = gradient_factors(decay={"w": values}), [replica_gradient(tensors={"w": 1.0})]
    facts = made_up_evidence([step], Context(replicas=3, global_batch=48), gradient_factors=fitted, gradients=gradients)
    found = weight_decay.weight_decay_rate(facts)
    assert (found is not None) == (place is not None)
    if found is not None:
        assert place in found.sentence and ("other replicas" in found.sentence) == ("alone" in place)


def decay_of(**multiples):
    return gradient_factors(decay={name: [value] * 4 for name, value in multiples.items()})


@pytest.mark.parametrize("multiple", [0.5, -0.5])
def test_a_decay_that_legacys_loss_adds_by_itself_is_at_another_rate_and_not_elsewhere(multiple):
    facts = evidence(decay_of(a=multiple), own=("a",))
    assert weight_decay.weight_decay_elsewhere(facts) is None
    found = weight_decay.weight_decay_rate(facts)
    assert (found.confidence, found.variables) == (MEDIUM, ("a",))
    assert f"({multiple:+.4g} x a)" in found.sentence


def test_a_weight_that_no_penalty_of_legacys_has_is_decayed_elsewhere():
    facts = evidence(decay_of(a=0.5), own=("b",))
    assert weight_decay.weight_decay_elsewhere(facts).variables == ("a",)
    assert weight_decay.weight_decay_rate(facts) is None


def test_a_rate_of_the_loss_is_not_measured_by_the_jobs():
    """1.25 x the job's rate would be the same number for `w`, which the job decays."""
    found = weight_decay.weight_decay_rate(evidence(decay_of(a=0.25 * RATE), own=("a",)))
    assert "legacy's own rate is not known" in found.because
    assert weight_decay.weight_decay_rate(evidence(decay_of(w=0.25 * RATE))).sentence == (
        "The weight decay is 1.25 x legacy's."
    )
