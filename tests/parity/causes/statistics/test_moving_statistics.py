from unittest import mock

import pytest
import tensorflow as tf

from modern.collectives import exchange
from parity.causes.basics.cause import HIGH
from parity.causes.statistics import moving_statistics as causes
from parity.diagnosis.candidates.statistics_owners import FIRST, LAST, MEAN, NONE, OwnerKind, StatisticsOwner
from tests.cases import Dyadic, Everything
from tests.parity.causes.statistics_facts import MEAN_NAME, moving_statistics, proposal_fit
from tests.parity.causes.stub_step import change_of, faulty_step, local_state, values_of
from tests.parity.step_records import compared_step, made_up_evidence, step_record

CRITERIA = {cause.id: cause.criterion for cause in causes.CAUSES}


def recognized(facts, drift=()):
    steps = [compared_step(step_record(), step_record(drift=drift))]
    evidence = made_up_evidence(steps, statistics=facts)
    findings = {name: criterion(evidence) for name, criterion in CRITERIA.items()}
    return {name: finding for name, finding in findings.items() if finding is not None}


@pytest.mark.parametrize(
    "left, right",
    [((FIRST,), (FIRST,)), ((NONE,), (NONE,)), ((FIRST, MEAN), (LAST, MEAN)), ((), (LAST,)), ((FIRST,), ())],
)
def test_a_common_owner_or_a_side_without_one_is_no_cause(left, right):
    assert recognized(moving_statistics(left, right)) == {}


def test_no_statistics_are_no_cause():
    assert recognized(None) == {}


@pytest.mark.parametrize(
    "left, right, sentence",
    [
        (FIRST, LAST, "the first replica's batch in legacy and from the last replica's batch in the port."),
        (MEAN, FIRST, "the mean over all replicas' batches in legacy and from the first replica's batch in the port."),
        (NONE, FIRST, "no batch in legacy and from the first replica's batch in the port."),
        (
            FIRST,
            StatisticsOwner(OwnerKind.REPLICA, replica=2),
            "the first replica's batch in legacy and from replica 2's batch in the port.",
        ),
        (
            FIRST,
            StatisticsOwner(OwnerKind.IN_TURN, momentum=0.9),
            "the first replica's batch in legacy and from all replicas' batches, one after the other (momentum 0.9 to "
            "the power of their number) in the port.",
        ),
    ],
)
def test_different_owners_are_named(left, right, sentence):
    found = recognized(moving_statistics((left,), (right,)))
    assert list(found) == ["BN_WHO_UPDATES"]
    assert found["BN_WHO_UPDATES"].sentence == "The moving statistics are updated from " + sentence
    assert found["BN_WHO_UPDATES"].because.endswith("statistics in 4 steps, residuals 1.0e-08 and 1.0e-08")


def test_statistics_that_never_change_are_named():
    found = recognized(moving_statistics((FIRST,), (NONE,)))
    assert list(found) == ["BN_NOT_UPDATED"]
    assert found["BN_NOT_UPDATED"].sentence == "The port never updates its moving statistics."


def test_copies_that_disagree_are_named():
    found = recognized(None, drift=["b", "a"])
    assert list(found) == ["REPLICA_DRIFT"]
    assert found["REPLICA_DRIFT"].confidence == HIGH
    assert found["REPLICA_DRIFT"].sentence == "2 mirrored variables differ between the port's replicas (a, b)."


def test_statistics_of_each_replica_are_named_where_nothing_else_disagrees():
    facts = moving_statistics(moves={MEAN_NAME: [proposal_fit()]})
    assert recognized(facts, drift=[MEAN_NAME])["REPLICA_DRIFT"].sentence == (
        "One mirrored variable differs between the port's replicas (norm/moving_mean): every replica keeps its own "
        "moving statistics."
    )
    weights_too = recognized(facts, drift=[MEAN_NAME, "w"])["REPLICA_DRIFT"]
    assert weights_too.sentence.endswith("(norm/moving_mean, w).")
    without_proposals = moving_statistics(drift=[MEAN_NAME])
    assert "keeps its own" in recognized(without_proposals, drift=[MEAN_NAME])["REPLICA_DRIFT"].sentence


@pytest.mark.parametrize(
    "fault, value",
    [
        ("last_replicas_statistics", 4.0),
        ("all_statistics_in_turn", 4.9),  # 0.9 * (0.9 * 2 + 3 - 1.8) + 4 - 1.8
        ("every_replica_its_own_statistics", 3.0),
        ("statistics_not_updated", 2.0),
    ],
)
def test_faults_update_the_statistics_from_other_proposals(fault, value):
    local = local_state(statistics={"mean": 2.0})
    gathered = mock.patch.object(exchange, "gather", lambda context, values: [[tf.constant(3.0), tf.constant(4.0)]])
    with gathered:
        faulty_step(fault)._update_statistics(None, local, {"mean": tf.constant(3.0)})
    assert values_of(local.statistics) == {"mean": pytest.approx(value)}


def test_the_mean_of_all_statistics_is_a_field_of_the_workload():
    assert change_of("mean_of_all_statistics").fields[0](None) == {"statistics": "mean_of_towers"}


def test_faults_of_statistics_need_a_workload_with_statistics():
    assert causes.normalizing(Dyadic()) is None
    assert causes.normalizing(Everything()) == Everything()
