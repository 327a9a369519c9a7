import dataclasses
from unittest import mock

import pytest

from modern.mirrored.step.replica_step import ReplicaStep
from parity.causes.basics.cause import HIGH, LOW, MEDIUM
from parity.causes.inputs import dropout
from parity.diagnosis.facts.dropout_masks import DropoutMasks
from tests.cases import Dyadic, Everything
from tests.parity.causes.stub_step import faulty_step
from tests.parity.step_records import made_up_evidence
from workloads import layers

CRITERIA = {cause.id: cause.criterion for cause in dropout.CAUSES}
NAN = float("nan")

#: Masks of a rate of 0.25 on 10000 elements, whose kept parts differ by 0.05 at most by chance; equal on both sides.
EQUAL = DropoutMasks(
    kept={"drop": (0.75, 0.75)}, sizes={"drop": 10000}, agree=(0.625, 0.625), expected=(0.625, 0.625), same=1.0
)


def recognized(**changes):
    evidence = made_up_evidence(masks=dataclasses.replace(EQUAL, **changes))
    findings = {name: criterion(evidence) for name, criterion in CRITERIA.items()}
    return {name: finding for name, finding in findings.items() if finding is not None}


def test_equal_masks_are_no_cause():
    assert recognized() == {}


def test_no_masks_are_no_cause():
    assert [criterion(made_up_evidence(masks=None)) for criterion in CRITERIA.values()] == [None] * 3


@pytest.mark.parametrize(
    "agree, causes",
    [
        ((0.625, 1.0), ["SAME_DROPOUT_MASK"]),
        ((0.625, 0.991), ["SAME_DROPOUT_MASK"]),
        ((0.625, 0.989), []),
        ((0.989, 1.0), ["SAME_DROPOUT_MASK"]),
        ((0.991, 1.0), []),
        ((0.625, NAN), []),
    ],
)
def test_replicas_that_drop_the_same_elements_are_named(agree, causes):
    assert list(recognized(agree=agree)) == causes


def test_the_sentence_of_equal_masks():
    found = recognized(agree=(0.625, 1.0))["SAME_DROPOUT_MASK"]
    assert found.sentence == (
        "All replicas drop the same elements: their masks agree on 100.0%, independent masks agree on 62%."
    )
    assert (found.confidence, found.because) == (HIGH, "the masks of legacy's towers agree on 62%")


def test_a_keep_prob_that_is_read_as_a_rate_is_named():
    found = recognized(kept={"drop": (0.75, 0.25)}, same=0.375)
    assert list(found) == ["KEEP_PROB_RATE"]
    assert found["KEEP_PROB_RATE"].confidence == HIGH
    assert found["KEEP_PROB_RATE"].sentence == (
        "drop keeps 25% of the elements in the port and 75% in legacy: keep_prob was read as a rate."
    )


@pytest.mark.parametrize(
    "right, confidence",
    [(0.701, None), (0.699, MEDIUM), (0.301, MEDIUM), (0.299, HIGH), (0.201, HIGH), (0.199, MEDIUM)],
)
def test_a_kept_part_differs_by_more_than_chance(right, confidence):
    found = recognized(kept={"drop": (0.75, right)}).get("KEEP_PROB_RATE")
    assert (found.confidence if found else None) == confidence


def test_another_rate_of_the_same_noise_is_named_however_near():
    near = {"kept": {"drop": (0.75, 0.749)}, "same": 0.999}
    assert list(recognized(**near)) == ["DROPOUT_STREAM"]
    found = recognized(**near, nested=("drop",))
    assert list(found) == ["KEEP_PROB_RATE"] and found["KEEP_PROB_RATE"].confidence == HIGH
    assert found["KEEP_PROB_RATE"].sentence == (
        "drop keeps 74.9% of the elements in the port and 75.0% in legacy; it draws legacy's noise, and compares it "
        "with another rate."
    )


def test_masks_that_legacy_does_not_show_are_no_cause():
    assert recognized(kept={"drop": (NAN, 0.25)}, same=NAN) == {}


def test_other_masks_are_named():
    found = recognized(same=0.625)
    assert list(found) == ["DROPOUT_STREAM"]
    assert found["DROPOUT_STREAM"].confidence == HIGH
    assert found["DROPOUT_STREAM"].sentence == (
        "Dropout draws other masks (62% of the elements agree, 62% would by chance): losses and gradients cannot be "
        "compared."
    )


@pytest.mark.parametrize(
    "same, confidence", [(0.99991, None), (0.99989, LOW), (0.726, LOW), (0.724, HIGH), (0.526, HIGH), (0.524, LOW)]
)
def test_other_masks_agree_as_often_as_by_chance(same, confidence):
    found = recognized(same=same).get("DROPOUT_STREAM")
    assert (found.confidence if found else None) == confidence


def test_another_cause_of_dropout_explains_other_masks():
    assert list(recognized(agree=(0.625, 1.0), same=0.625)) == ["SAME_DROPOUT_MASK"]


@pytest.mark.parametrize("fault, number", [("same_noise_on_every_replica", 0), ("noise_of_another_seed", 103)])
def test_faults_draw_another_replica_s_noise(fault, number):
    with mock.patch.object(ReplicaStep, "_forward_backward", lambda self, local, step, replica, batch: replica):
        assert faulty_step(fault)._forward_backward(None, 0, 3, {}) == number


def test_a_fault_reads_keep_prob_as_a_rate(monkeypatch):
    def own_dropout(scope, x, rate):
        return ("dropped", x, rate)

    def healthy_pass(self, local, step, replica, batch):
        return [layers.dropout(None, "x", rate) for rate in (0.75, 0.0)]

    monkeypatch.setattr(layers, "dropout", own_dropout)
    with mock.patch.object(ReplicaStep, "_forward_backward", healthy_pass):
        made = faulty_step("keep_prob_as_rate")._forward_backward(None, 0, 0, {})
    assert made == [("dropped", "x", 0.25), "x"]
    assert layers.dropout is own_dropout


def test_faults_of_dropout_need_a_workload_that_drops():
    assert dropout.dropping(Everything()) == Everything()
    assert dropout.dropping(Everything(dropout_rate=0.0)) is None
    assert dropout.dropping(Dyadic()) is None
