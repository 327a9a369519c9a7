import numpy as np
import pytest

from parity.diagnosis.candidates.statistics_owners import FIRST, LAST, MEAN, NONE
from parity.diagnosis.facts.moving_statistics import (
    SAME_STATISTICS,
    measure_moving_statistics,
    replica_disagreement,
)
from tests.parity.step_records import arrays, compared_step, made_up_state, step_record

OLD = {"norm/mean": [0.0], "norm/variance": [8.0]}
LEFT = [{"norm/mean": [1.0], "norm/variance": [6.0]}, {"norm/mean": [3.0], "norm/variance": [4.0]}]


def record(kept, proposals, drift=()):
    return step_record(state=made_up_state(statistics=kept), proposals=proposals, drift=drift)


def facts_of(right_kept, right_proposals, right_old=OLD, drift=(), left_proposals=LEFT):
    """The facts of one step in which the left keeps its first replica's proposals."""
    left = record(LEFT[0], left_proposals)
    right = record(right_kept, right_proposals, drift)
    before = [made_up_state(statistics=old) for old in (OLD, right_old)]
    return measure_moving_statistics([compared_step(left, right, *before)])


def test_owners_of_both_sides():
    found = facts_of(LEFT[1], LEFT)
    assert [list(owners) for owners in found.owners] == [[FIRST], [LAST]]
    assert not found.borrowed
    assert found.steps == 1


def test_equal_proposals_have_no_gap_and_are_taken_whole():
    found = facts_of(LEFT[0], LEFT)
    assert found.gaps == {"norm/mean": 0.0, "norm/variance": 0.0}
    for fit in found.moves["norm/variance"]:
        assert fit.share == (1.0, 0.0)


def test_another_momentum_is_another_share_of_the_batch():
    right = [{"norm/mean": [2.0], "norm/variance": [4.0]}, {"norm/mean": [6.0], "norm/variance": [0.0]}]
    found = facts_of(right[0], right)
    assert {name: [fit.share.factor for fit in fits] for name, fits in found.moves.items()} == {
        "norm/mean": [2.0, 2.0],
        "norm/variance": [2.0, 2.0],
    }


def test_a_proposal_is_a_mix_of_the_lefts_and_the_old_value():
    old = {"variance": [8.0, 4.0]}
    left, right = [{"variance": [4.0, 8.0]}], [{"variance": [2.0 * 4 - 0.5 * 8, 2.0 * 8 - 0.5 * 4]}]
    step = compared_step(record(left[0], left), record(right[0], right), made_up_state(statistics=old))
    (fit,) = measure_moving_statistics([step]).moves["variance"]
    assert fit.mix.factor == pytest.approx(2.0)
    assert fit.mix.old_share == pytest.approx(-0.5)
    assert fit.mix.residual < 1e-12


@pytest.mark.parametrize(
    "old, left, leverage",
    [
        ([1.0, 1.0], [1.0, -1.0], 1.0),  # beside the old value in all of it
        ([1.0, 1.0], [1025.0, 1023.0], np.sqrt(1025**2 + 1023**2) / np.sqrt(2)),
        ([0.0, 0.0], [3.0, 4.0], 1.0),
        ([1.0, 1.0], [2.0, 2.0], np.inf),  # a multiple of the old value tells nothing
    ],
)
def test_a_factor_is_as_uncertain_as_the_batch_adds_little_beside_the_old_value(old, left, leverage):
    sides = [record({"variance": left}, [{"variance": left}]) for _ in range(2)]
    step = compared_step(*sides, made_up_state(statistics={"variance": old}))
    (fit,) = measure_moving_statistics([step]).moves["variance"]
    assert fit.mix.leverage == pytest.approx(leverage, rel=1e-12)


def test_gaps_are_relative_to_the_lefts_proposals():
    right = [{"norm/mean": [1.5], "norm/variance": [6.0]}, {"norm/mean": [3.0], "norm/variance": [4.0]}]
    assert facts_of(right[0], right).gaps == {"norm/mean": 0.5, "norm/variance": 0.0}


def test_replicas_that_share_their_moments_are_alike():
    shared = [{"norm/mean": [2.0], "norm/variance": [5.0]}] * 2  # the mean of the left's
    found = facts_of(shared[0], shared)
    assert found.alike == (2.0, 0.0)  # left: 1 and 3
    assert found.global_mean == 0.0
    assert facts_of(LEFT[0], LEFT).global_mean == 1 / 6  # of the variances: 6 against 5, relative to 6


def test_disagreement_of_a_lone_replica_is_one_and_of_none_is_not_known():
    assert replica_disagreement([[arrays({"mean": [1.0]})]], ["mean"]) == 1.0
    assert np.isnan(replica_disagreement([], ["mean"]))


def test_a_right_side_without_proposals_borrows_the_lefts():
    found = facts_of({"norm/mean": [1.0], "norm/variance": [7.0]}, [])  # Bessel's correction in the variance alone
    assert found.borrowed
    assert list(found.owners[1]) == [FIRST]
    assert found.gaps == {}
    assert [fit.share.factor for fit in found.moves["norm/variance"]] == [0.5]


def test_a_borrowing_side_that_keeps_another_replicas_values_has_no_fits():
    found = facts_of({"norm/mean": [2.0], "norm/variance": [5.0]}, [])
    assert list(found.owners[1]) == [MEAN]
    assert found.moves == {"norm/mean": [], "norm/variance": []}


def test_a_borrowing_side_of_another_momentum_is_compared_with_the_first_replica():
    found = facts_of({"norm/mean": [0.5], "norm/variance": [7.0]}, [])  # half of what the left's first moves by
    assert found.owners[1] == {}
    assert [fit.share.factor for fits in found.moves.values() for fit in fits] == [0.5, 0.5]


@pytest.mark.parametrize("gap, compared", [(0.5 * SAME_STATISTICS, True), (2 * SAME_STATISTICS, False)])
def test_proposals_are_compared_from_the_same_statistics_only(gap, compared):
    old = {"norm/mean": np.array([0.0]), "norm/variance": np.array([8.0 * (1 + gap)])}
    found = facts_of(LEFT[0], LEFT, right_old=old)
    assert bool(found.gaps) is compared
    assert bool(found.moves["norm/mean"]) is compared


def test_statistics_whose_copies_disagree_drift():
    assert facts_of(LEFT[0], LEFT, drift=["norm/mean", "w"]).drift == ["norm/mean"]


def test_there_is_nothing_to_measure_without_common_statistics():
    assert facts_of({"other": [1.0]}, [{"other": [1.0]}], right_old={"other": [1.0]}) is None
    assert facts_of({"other": [1.0]}, [{"other": [1.0]}], right_old={"other": [1.0]}, left_proposals=[]) is None
    assert measure_moving_statistics([]) is None


def test_the_ports_proposals_tell_whose_batches_the_values_of_a_saved_graph_are_of():
    mean = {"norm/mean": [2.0], "norm/variance": [5.0]}
    for kept, owner in ((LEFT[0], FIRST), (LEFT[1], LAST), (mean, MEAN)):
        found = facts_of(kept, LEFT, left_proposals=[])
        assert found.only_kept and [list(owners) for owners in found.owners] == [[FIRST], [owner]]
    assert not facts_of(LEFT[0], LEFT).only_kept


def test_values_that_a_saved_graph_keeps_are_compared_as_proposals():
    doubled = {"norm/mean": [2.0], "norm/variance": [4.0]}  # twice as far from the old values
    found = facts_of(doubled, [doubled, LEFT[1]], left_proposals=[])
    assert {name: [fit.share.factor for fit in fits] for name, fits in found.moves.items()} == {
        "norm/mean": [2.0],
        "norm/variance": [2.0],
    }
    assert list(found.owners[0]) == [], "no batch of the port's explains what legacy keeps"


def test_a_port_that_updates_nothing_beside_a_saved_graph_keeps_no_batch():
    found = facts_of(OLD, [], left_proposals=[])
    assert NONE in found.owners[1] and NONE not in found.owners[0]


def test_a_step_counter_is_no_moving_statistic():
    counted = {**LEFT[0], "global_step": np.int64(4)}
    found = facts_of(
        {**counted, "global_step": np.int64(3)}, [], {**OLD, "global_step": np.int64(3)}, left_proposals=[]
    )
    assert found is None or "global_step" not in found.gaps
