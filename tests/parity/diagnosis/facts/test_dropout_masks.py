import numpy as np
import pytest

from parity.diagnosis.facts.dropout_masks import measure_dropout_masks
from tests.parity.step_records import compared_step, step_record

LEFT = [True, True, False, False]
RIGHT = [True, False, True, False]


def masks_of(left, right):
    """The facts of one step in which the replicas have these masks of dropout "d"."""
    sides = (step_record(masks=[{"d": mask} for mask in side]) for side in (left, right))
    return measure_dropout_masks([compared_step(*sides)])


def test_kept_parts_are_counted_on_each_side():
    found = masks_of([LEFT, LEFT], [RIGHT, [True, True, True, False]])
    assert found.kept == {"d": (0.5, 0.625)}
    assert found.sizes == {"d": 8}


def test_agreement_of_replicas_is_the_smallest():
    found = masks_of([LEFT, LEFT, RIGHT], [RIGHT, RIGHT, RIGHT])
    assert found.agree == (0.5, 1.0)


def test_independent_masks_agree_where_both_keep_or_both_drop():
    found = masks_of([LEFT, LEFT], [[True, True, True, False]] * 2)
    assert found.expected == (0.5, 0.75**2 + 0.25**2)


def test_elements_that_are_the_same_on_both_sides():
    assert masks_of([LEFT, LEFT], [LEFT, RIGHT]).same == 0.75
    assert masks_of([LEFT, LEFT], [LEFT, LEFT]).same == 1.0


@pytest.mark.parametrize("extra, nested", [(10, ("d",)), (9, ())])
def test_masks_are_nested_where_one_side_keeps_all_of_the_other_and_more(extra, nested):
    kept, more = np.arange(40) < 15, np.arange(40) < 15 + extra
    assert masks_of([kept, kept], [more, more]).nested == nested
    assert masks_of([more, more], [kept, kept]).nested == nested
    assert masks_of([kept, more], [more, kept]).nested == ()
    assert masks_of([more], [more]).nested == ()


def test_a_lone_replica_agrees_with_nobody():
    assert np.isnan(masks_of([LEFT], [RIGHT]).agree).all()


def test_masks_of_other_shapes_cannot_be_compared():
    assert np.isnan(masks_of([LEFT, LEFT], [[True], [True]]).same)


def test_a_left_side_without_masks_is_not_compared():
    found = masks_of([], [RIGHT, RIGHT])
    assert np.isnan(found.kept["d"][0])
    assert found.kept["d"][1] == 0.5
    assert np.isnan(found.agree[0])
    assert np.isnan(found.same)


def test_there_is_nothing_to_measure_without_masks_on_the_right():
    assert masks_of([LEFT], []) is None
    assert measure_dropout_masks([]) is None
    assert measure_dropout_masks([compared_step(step_record(masks=[{}]))]) is None
