from types import SimpleNamespace
from unittest import mock

import pytest
import tensorflow as tf

from parity.causes.basics.cause import HIGH, MEDIUM
from parity.causes.penalties import regularization
from parity.diagnosis.context.job_context import Context
from tests.cases import Dyadic
from tests.parity.causes.facts import gradient_factors, total_factor
from tests.parity.causes.stub_step import FAULTS, change_of, combine, faulty_step, forward_backward
from tests.parity.step_records import compared_step, made_up_evidence, made_up_state, step_record
from workloads.job import Job

CRITERIA = {cause.id: cause.criterion for cause in regularization.CAUSES}
RATE = 0.25


def recognized(factors, replicas=4, decayed=("w",)):
    context = Context(replicas=replicas, global_batch=32, weight_decay=RATE, decayed=decayed, penalized=decayed)
    evidence = made_up_evidence((), context, gradient_factors=factors)
    findings = {name: criterion(evidence) for name, criterion in CRITERIA.items()}
    return {name: finding for name, finding in findings.items() if finding is not None}


def with_ratio(ratio, replicas=4, replica=1.0, reduction=1.0):
    """Factors of a port whose decay is `ratio` times legacy's in every replica."""
    extra = (ratio - replica * reduction) * RATE
    return gradient_factors(replica, reduction, decay={"w": [extra] * replicas})


@pytest.mark.parametrize("factors", [None, gradient_factors(), with_ratio(1.001), with_ratio(1.25), with_ratio(3.0)])
def test_no_decay_or_another_ratio_is_none_of_these_causes(factors):
    assert recognized(factors) == {}


def test_a_decay_that_every_replica_adds_counts_n_times():
    found = recognized(with_ratio(4.0, replica=0.25, reduction=4.0))
    assert list(found) == ["REG_NOT_SCALED"]
    assert found["REG_NOT_SCALED"].confidence == HIGH
    assert found["REG_NOT_SCALED"].sentence == (
        "The weight decay counts 4 x: every replica adds all of it and the replicas are summed, while the data's "
        "gradient is 1 x legacy's."
    )


def test_a_ratio_counts_as_n_within_five_in_a_thousand():
    assert list(recognized(with_ratio(4.0 * 1.004))) == ["REG_NOT_SCALED"]
    assert recognized(with_ratio(4.0 * 1.006)) == {}


def test_a_decay_without_the_half_that_every_replica_adds_is_both():
    assert list(recognized(with_ratio(8.0))) == ["REG_NOT_SCALED", "L2_HALF_FACTOR"]


@pytest.mark.parametrize("ratio", [2.0, 0.5])
def test_a_factor_of_two_or_one_half_is_l2_loss_s(ratio):
    found = recognized(with_ratio(ratio))
    assert list(found) == ["L2_HALF_FACTOR"]
    assert found["L2_HALF_FACTOR"].confidence == HIGH
    assert found["L2_HALF_FACTOR"].sentence.startswith(f"The weight decay is {ratio:g} x legacy's")


def test_with_two_replicas_that_sum_shares_twice_the_decay_is_either():
    in_shares = recognized(with_ratio(2.0, 2, replica=0.5, reduction=2.0), 2)  # both give the very same gradients
    assert {name: found.confidence for name, found in in_shares.items()} == {
        "REG_NOT_SCALED": MEDIUM, "L2_HALF_FACTOR": MEDIUM,
    }  # fmt: skip
    assert all(found.ambiguous for found in in_shares.values())
    assert recognized(with_ratio(3.0, 3, replica=1 / 3, reduction=3.0), 3)["REG_NOT_SCALED"].confidence == HIGH
    assert list(recognized(with_ratio(2.0, 2), 2)) == ["L2_HALF_FACTOR"]


def test_with_two_replicas_that_are_hidden_twice_the_decay_is_either():
    found = recognized(total_factor(1.0, decay={"w": [RATE]}), 2)
    assert {name: finding.confidence for name, finding in found.items()} == {
        "REG_NOT_SCALED": MEDIUM,
        "L2_HALF_FACTOR": MEDIUM,
    }


def test_a_factor_of_two_is_less_sure_where_legacy_s_decayed_weights_are_unknown():
    assert recognized(with_ratio(2.0), decayed=None)["L2_HALF_FACTOR"].confidence == MEDIUM


def test_one_replica_cannot_count_a_decay_twice():
    assert list(recognized(with_ratio(2.0, 1), 1)) == ["L2_HALF_FACTOR"]


def test_a_decay_that_is_lost_is_named():
    found = recognized(with_ratio(0.0))
    assert list(found) == ["REG_COLLECTED_ONCE"]
    assert found["REG_COLLECTED_ONCE"].sentence.startswith("The port's gradient has no weight decay at all")
    assert recognized(with_ratio(0.004)) != {}
    assert recognized(with_ratio(0.006)) == {}


def test_a_decay_of_one_nth_was_collected_once():
    found = recognized(with_ratio(0.25))
    assert found["REG_COLLECTED_ONCE"].sentence == "The weight decay counts 1/4 of legacy's."
    assert list(recognized(with_ratio(0.5, 2), 2)) == ["L2_HALF_FACTOR"]


@pytest.mark.parametrize(
    "extra, sentence",
    [
        ([0.0, -RATE], "The port adds the weight decay in the first replica only: it counts 1/2."),
        ([0.0, RATE], "Legacy adds the weight decay in its first tower only: there it counts 1/2."),
        ([0.01 * RATE, -0.99 * RATE], "The port adds the weight decay in the first replica only: it counts 1/2."),
    ],
)
def test_a_decay_in_the_first_replica_or_tower_is_reported_replica_by_replica(extra, sentence):
    found = recognized(gradient_factors(decay={"w": extra}), 2)
    assert found["REG_COLLECTED_ONCE"].sentence == sentence


@pytest.mark.parametrize("extra", [[-RATE, 0.0], [0.0, 0.75 * RATE], [0.0, -0.9 * RATE]])
def test_a_decay_in_other_replicas_is_not(extra):
    assert recognized(gradient_factors(decay={"w": extra}), 2) == {}


@pytest.mark.parametrize(
    "extra, side",
    [
        ([1e-12, 0.5, 0.5], "legacy adds it in its first tower only"),
        ([0.0, -0.5, -0.5], "the port adds it in its first replica only"),
        ([0.0, 0.5, 0.0], None),  # of a tower that is neither the first nor all others
        ([0.5, 0.0, 0.0], None),
        ([0.0, 0.5, 0.25], None),
        ([0.5, 0.5, 0.5], None),  # another rate
    ],
)
def test_where_legacys_rate_is_unknown_a_decay_of_all_but_the_first_was_collected_once(extra, side):
    step = compared_step(step_record(), left_before=made_up_state({"w": [[1.0, 2.0]]}))
    fitted = gradient_factors(decay={"w": extra})
    evidence = made_up_evidence([step], Context(replicas=3, global_batch=48), gradient_factors=fitted)
    found = regularization.reg_collected_once(evidence)
    assert (found is not None) == (side is not None)
    if found is not None:
        assert side in found.sentence and "0.5 x w" in found.sentence
        assert (found.confidence, found.ambiguous, found.variables) == (MEDIUM, True, ("w",))


def test_decays_of_all_but_the_first_on_both_sides_are_none_that_was_collected_once():
    step = compared_step(step_record(), left_before=made_up_state({"w": [[1.0]], "v": [[1.0]]}))
    fitted = gradient_factors(decay={"w": [0.0, 0.5], "v": [0.0, -0.5]})
    evidence = made_up_evidence([step], Context(replicas=2, global_batch=32), gradient_factors=fitted)
    assert regularization.reg_collected_once(evidence) is None


def decayed(*names):
    """The faulty steps' model decays these weights; the workload's own rate is `RATE`."""
    return mock.patch.object(regularization, "decayed_weights", lambda job: names)


def decaying(fault):
    step = faulty_step(fault)
    object.__setattr__(step._job.workload, "weight_decay", RATE)
    return step


def test_a_whole_decay_is_added_to_each_share():
    step = decaying("penalty_not_divided")
    with decayed("w"):
        loss, gradients = forward_backward(step, {"w": 5.0, "b": 8.0}, loss=2.0, weights={"w": 4.0, "b": 1.0})
    assert (loss, gradients) == (0.5, {"w": 2.0, "b": 2.0})  # (5 - 1) / 4 + 1 and 8 / 4
    assert combine(step, {"w": 2.0}) == {"w": 8.0}


@pytest.mark.parametrize("replica, gradient", [(0, 5.0), (1, 4.0)])
def test_only_the_first_replica_keeps_its_decay(replica, gradient):
    step = decaying("penalty_in_the_first_replica_only")
    with decayed("w"):
        made = forward_backward(step, {"w": 5.0, "b": 8.0}, replica, weights={"w": 4.0, "b": 1.0})
    assert made == (1.0, {"w": gradient, "b": 8.0})


def test_only_the_first_tower_keeps_its_penalties():
    tower_loss = regularization._penalties_in_first_tower(lambda workload, frame, batch: tf.constant(5.0))
    penalties = [tf.constant(1.0), tf.constant(2.0)]
    losses = [tower_loss(None, SimpleNamespace(replica=i, penalties=penalties), {}).numpy() for i in (0, 1)]
    assert losses == [5.0, 2.0]
    assert tower_loss(None, SimpleNamespace(replica=1, penalties=[]), {}).numpy() == 5.0


def test_faults_change_the_rate_of_decay():
    job = Job(Dyadic(weight_decay=RATE), 4, 8)
    names = ("decay_times_replicas", "l2_without_the_half", "l2_halved_twice", "penalty_lost")
    rates = [change_of(name).fields[0](job)["weight_decay"] for name in names]
    assert rates == [1.0, 0.5, 0.125, 0.0]
    assert [FAULTS["decay_times_replicas"].occurs_at(replicas) for replicas in (2, 3)] == [False, True]


def of_two(decayed):
    """What is named where the port lost the decay of "w" and has that of "v"."""
    record = step_record(gradients=[{"w": [1.0], "v": [1.0]}] * 4)
    before = made_up_state({"w": [2.0], "v": [2.0]})
    evidence = made_up_evidence(
        [compared_step(record, left_before=before)],
        Context(replicas=4, global_batch=32, weight_decay=RATE, decayed=decayed, penalized=decayed),
        gradient_factors=gradient_factors(decay={"w": [-RATE] * 4}),
    )
    findings = {name: criterion(evidence) for name, criterion in CRITERIA.items()}
    return {name: finding for name, finding in findings.items() if finding is not None}


def test_one_of_two_decays_is_not_all_decay():
    assert list(of_two(("w",))) == ["REG_COLLECTED_ONCE"]
    assert of_two(("v", "w")) == {}


def test_a_recording_does_not_say_which_other_weights_are_decayed():
    found = of_two(None)["REG_COLLECTED_ONCE"]
    assert found.confidence == MEDIUM
    assert found.sentence == "The port's gradient has no weight decay of w; legacy's towers add it."
