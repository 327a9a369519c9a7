import numpy as np
import pytest

from parity.diagnosis.candidates.statistics_owners import (
    FIRST,
    LAST,
    MEAN,
    NONE,
    KeptStatistics,
    OwnerKind,
    StatisticsOwner,
    explaining_owners,
    possible_owners,
    unexplained_part,
)
from tests.parity.step_records import arrays, made_up_state, step_record

OLD = 8.0
PROPOSALS = [4.0, 6.0, 0.0]
SECOND = StatisticsOwner(OwnerKind.REPLICA, replica=1)


def kept(value, proposals=PROPOSALS, old=OLD):
    """One step in which a side keeps `value` of statistic "mean"."""
    return KeptStatistics(
        made_up_state(statistics={"mean": [old]}),
        step_record(state=made_up_state(statistics={"mean": [value]})),
        [arrays({"mean": [proposal]}) for proposal in proposals],
    )


@pytest.mark.parametrize("value, owner", [(4.0, FIRST), (0.0, LAST), (6.0, SECOND), (10 / 3, MEAN), (8.0, NONE)])
def test_the_owner_of_a_kept_value_is_found(value, owner):
    assert list(explaining_owners([kept(value)], ["mean"])) == [owner]


def test_applying_all_proposals_in_turn_is_an_owner_with_a_momentum():
    value = OLD
    for proposal in PROPOSALS:  # proposals are 0.9 old + 0.1 moment
        value = 0.9 * value + (proposal - 0.9 * OLD)
    (owner,) = explaining_owners([kept(value)], ["mean"])
    assert (owner.kind, owner.momentum) == (OwnerKind.IN_TURN, 0.9)


def test_every_step_must_be_explained():
    assert explaining_owners([kept(4.0), kept(0.0)], ["mean"]) == {}
    assert list(explaining_owners([kept(4.0), kept(4.0)], ["mean"])) == [FIRST]


@pytest.mark.parametrize("error, explained", [(2.0**-11, True), (2.0**-8, False)])
def test_the_unexplained_part_is_relative_to_the_change(error, explained):
    row = kept(4.0 * (1 + error))
    assert unexplained_part(row, FIRST, ["mean"]) == error  # of a change of 4
    assert (FIRST in explaining_owners([row], ["mean"])) is explained


def test_no_owner_is_recognised_by_bits_and_not_by_a_threshold():
    assert unexplained_part(kept(8.0), NONE, ["mean"]) == 0.0
    assert unexplained_part(kept(np.nextafter(np.float32(8), np.float32(9))), NONE, ["mean"]) == float("inf")


def test_a_lone_replica_is_first_last_and_mean():
    assert list(explaining_owners([kept(4.0, [4.0])], ["mean"]))[:3] == [FIRST, LAST, MEAN]


def test_steps_without_proposals_tell_no_owner():
    assert explaining_owners([kept(4.0, [])], ["mean"]) == {}
    assert explaining_owners([kept(4.0, []), kept(4.0)], ["mean"]) == {FIRST: 0.0}


def test_middle_replicas_are_hypotheses_of_their_own():
    assert SECOND not in possible_owners(2)
    assert [owner.replica for owner in possible_owners(4) if owner.kind is OwnerKind.REPLICA] == [1, 2]
