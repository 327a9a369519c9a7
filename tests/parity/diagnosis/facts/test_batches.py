import pytest

from parity.diagnosis.facts.batches import FARTHEST, measure_batches
from tests.parity.step_records import compared_step, step_record


def steps(lefts, rights):
    """Steps whose replicas have these examples; `lefts` and `rights` are lists over steps."""
    rows = zip(lefts, rights)
    return [
        compared_step(step_record(i, examples=left), step_record(i, examples=right))
        for i, (left, right) in enumerate(rows)
    ]


def test_equal_batches_are_the_same():
    (batch,) = measure_batches(steps([[[1, 2], [3, 4]]], [[[1, 2], [3, 4]]]))
    assert batch.same
    assert batch.shared == 1.0
    assert batch.sizes == ([2, 2], [2, 2])
    assert batch.same_on_all == (False, False)
    assert batch.shift is None


def test_another_order_is_another_batch_of_the_same_examples():
    (batch,) = measure_batches(steps([[[1, 2], [3, 4]]], [[[2, 1], [3, 4]]]))
    assert not batch.same
    assert batch.shared == 1.0
    assert batch.shift is None  # of this step, and no other's


def test_shared_examples_are_counted_as_often_as_both_sides_have_them():
    (batch,) = measure_batches(steps([[[1, 1], [2, 3]]], [[[1, 9], [3, 8]]]))
    assert batch.shared == 0.5


def test_replicas_with_one_batch_are_seen_on_each_side():
    (batch,) = measure_batches(steps([[[1], [2]]], [[[1], [1]]]))
    assert batch.same_on_all == (False, True)
    (alone,) = measure_batches(steps([[[1]]], [[[1]]]))
    assert alone.same_on_all == (False, False)


def test_batches_of_another_step_are_found_by_their_shift():
    lefts = [[[number]] for number in range(4)]
    found = measure_batches(steps(lefts, [lefts[1], lefts[2], lefts[3], [[99]]]))
    assert [batch.shift for batch in found] == [1, 1, 1, None]


@pytest.mark.parametrize("away, shift", [(FARTHEST, -FARTHEST), (FARTHEST + 1, None)])
def test_batches_are_looked_for_only_so_far_away(away, shift):
    lefts = [[[number]] for number in range(away + 1)]
    rights = [[[100 + number]] for number in range(away)] + [lefts[0]]
    assert measure_batches(steps(lefts, rights))[-1].shift == shift


def test_the_nearest_of_two_equal_batches_counts():
    lefts = [[[7]], [[1]], [[2]], [[7]]]
    assert measure_batches(steps(lefts, [[[0]], [[0]], [[7]], [[0]]]))[2].shift == 1


def test_digests_stand_for_whole_batches():
    left, right = step_record(digests=["a", "b"]), step_record(digests=["a", "c"])
    (batch,) = measure_batches([compared_step(left, right)])
    assert not batch.same
    assert batch.shared == 0.5
    assert batch.sizes == ([1, 1], [1, 1])


def test_steps_without_batches_on_both_sides_are_left_out():
    assert measure_batches([compared_step(step_record(digests=["a"]), step_record())]) == []
    assert measure_batches(steps([[[]]], [[[1]]])) == []  # an empty batch against a full one


def test_hashes_of_examples_are_not_compared_with_digests():
    left = step_record(0, examples=[[1, 2]], digests=["a"])
    assert measure_batches([compared_step(left, step_record(0, digests=["a"]))])[0].same
    assert not measure_batches([compared_step(left, step_record(0, digests=["b"]))])[0].same
    without = step_record(0, examples=[[1, 2]])
    assert measure_batches([compared_step(without, step_record(0, digests=["b"]))]) == []
