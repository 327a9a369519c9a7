import pytest

from parity.causes.basics.cause import HIGH, MEDIUM
from parity.causes.inputs import input_batches
from tests.cases import Dyadic
from tests.parity.causes.facts import batch
from tests.parity.causes.stub_step import change_of
from tests.parity.step_records import made_up_evidence
from workloads.job import Job

CRITERIA = {cause.id: cause.criterion for cause in input_batches.CAUSES}


def recognized(*batches):
    evidence = made_up_evidence(batches=list(batches))
    findings = {name: criterion(evidence) for name, criterion in CRITERIA.items()}
    return {name: finding for name, finding in findings.items() if finding is not None}


def test_the_same_batches_are_no_cause():
    assert recognized() == {}
    assert recognized(batch(same=True, shared=1.0), batch(1, same=True, shared=1.0)) == {}


@pytest.mark.parametrize(
    "right, text",
    [
        ([8, 8], "see 8 examples each where legacy's towers see 4: the dataset is batched by the global batch."),
        ([2, 2], "see 2 examples each where legacy's towers see 4: the dataset is batched by a part of it."),
        ([4, 2], "see 4, 2 examples each where legacy's towers see 4."),
    ],
)
def test_other_numbers_of_examples_are_named(right, text):
    found = recognized(batch(same=True), batch(3, sizes=((4, 4), right)))
    assert list(found) == ["DATA_BATCH_SIZE"]
    assert found["DATA_BATCH_SIZE"].sentence == "At step 3 the port's replicas " + text


def test_one_batch_on_all_replicas_is_not_sharded():
    found = recognized(batch(shared=0.5, same_on_all=(False, True)), batch(1, shared=0.5, same_on_all=(False, True)))
    assert list(found) == ["DATA_SHARD"]
    assert "(50% of legacy's examples are seen)" in found["DATA_SHARD"].sentence


def test_batches_that_legacy_shares_too_or_that_are_shared_in_some_steps_are_not_unsharded():
    assert "DATA_SHARD" not in recognized(batch(same_on_all=(True, True)))
    assert "DATA_SHARD" not in recognized(batch(same_on_all=(False, True)), batch(1))


def test_the_same_examples_in_another_order_are_named():
    assert list(recognized(batch(shared=1.0), batch(1, shared=1.0))) == ["DATA_ORDER"]
    assert "DATA_ORDER" not in recognized(batch(shared=1.0), batch(1, shared=0.875))


def test_another_step_s_batches_are_named_from_two_on():
    found = recognized(batch(shift=1), batch(1, shift=1), batch(2))
    assert list(found) == ["DATA_OFFSET"]
    assert found["DATA_OFFSET"].sentence == "The port's batch of step t is legacy's of step t +1."
    assert "DATA_OFFSET" not in recognized(batch(shift=1), batch(1))
    assert "DATA_OFFSET" not in recognized(batch(shift=1), batch(1, shift=2))


def test_other_examples_are_named_where_nothing_else_explains_them():
    found = recognized(batch(shared=0.25), batch(1, shared=0.75), batch(2, same=True, shared=1.0))
    assert list(found) == ["DATA_OTHER"]
    assert found["DATA_OTHER"].sentence == "The port sees other examples: 50% of legacy's in 2 of 3 steps."
    assert found["DATA_OTHER"].confidence == HIGH
    assert recognized(batch(shared=0.25), batch(1, shared=1.0))["DATA_OTHER"].confidence == MEDIUM


def test_replicas_are_batched_by_the_global_batch():
    assert change_of("replicas_batched_by_the_global_batch").job[0](Job(Dyadic(), 2, 8)) == {"global_batch": 16}
