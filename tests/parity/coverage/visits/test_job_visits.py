"""The states that are visited, and when the search for one ends."""

import numpy as np
import pytest

from parity.comparison.tour import Visit
from parity.coverage.mutant import Exposure
from parity.coverage.visits.job_visits import (
    CoverageState,
    random_visit,
    small_weights,
    visits_of_job,
    with_far_weights,
)
from tests.parity.coverage.cases import dyadic_job
from workloads import sources
from workloads.program import State
from workloads.workload import Clip, MovingAverage


def visited(needed=None, taken=range(20), boundaries=(), is_finite=True, first_steps=(), **fields):
    job = dyadic_job(**fields)
    weights = {"a": np.float32(1), "b": np.float32(2)}
    last = State(20, weights, {"a/m": np.float32(1), "power": np.float32(0.5)}, {}, dict(weights))
    coverage = CoverageState(
        lambda: needed is not None,
        lambda exposure: exposure is needed,
        set(taken).__contains__,
        lambda: is_finite,
        lambda: first_steps,
    )
    return list(visits_of_job(job, last, boundaries, sources.Synthetic(job), coverage))


def test_weights_far_from_the_runs_are_visited_after_all_else_once_for_each_train_op():
    last = State(20, {"a": np.float32(1)}, {}, {}, {})
    coverage = CoverageState(lambda: False, lambda _: False, lambda _: False, lambda: True)
    other = Visit("other", last)
    found = list(with_far_weights(lambda *_: iter([other]), 2)(last, coverage))
    assert [visit.name for visit in found[:5]] == ["other", *2 * ["weights times 8"], *2 * ["weights times 0.125"]]
    assert [float(visit.state.weights["a"]) for visit in found[1:5]] == [8, 8, 0.125, 0.125]
    assert (
        [visit.state.step for visit in found[1:]] == list(range(20, 26))
        and found[5].has_random_weights
        and found[1].may_overflow
    )


def test_nothing_is_visited_where_nothing_is_missing():
    assert visited() == []


def test_steps_before_at_and_after_each_boundary_that_was_not_taken():
    assert [visit.state.step for visit in visited(boundaries=[20, 350000])] == [20, 21, 349999, 350000, 350001]


def test_the_first_steps_that_a_constant_changes_are_visited():
    assert [visit.state.step for visit in visited(first_steps=[7, 27])] == [27]


def test_the_end_of_the_warm_up_has_averages_far_from_the_weights():
    found = visited(moving_average=MovingAverage(0.9999))
    assert [visit.state.step for visit in found] == [89988, 89989, 89990]
    assert float(found[0].state.averages["b"]) == 1.0 and float(found[0].state.weights["b"]) == 2.0


def test_slots_near_zero_leave_the_accumulators():
    [found] = visited(Exposure.SMALL_SLOTS)
    assert float(found.state.slots["a/m"]) == 2.0**-40 and float(found.state.slots["power"]) == 0.5


def test_weights_grow_until_clipping_is_seen_and_steps_go_on():
    found = visited(Exposure.LARGE_GRADIENTS, clip=Clip(1e30))  # beyond the reach of the ascent
    assert [float(visit.state.weights["a"]) for visit in found] == [2.0**power for power in range(1, 15)]
    assert [visit.state.step for visit in found] == list(range(20, 34))


def test_a_state_that_is_not_finite_ends_the_growth():
    assert (
        len(visited(Exposure.LARGE_GRADIENTS, clip=Clip(1e30), is_finite=False)) == 2
    )  # of small scales, and of large ones


def test_weights_shrink_where_clipping_always_acts():
    assert [float(v.state.weights["a"]) for v in visited(Exposure.SMALL_GRADIENTS, clip=Clip(1.0))][:2] == [0.5, 0.25]


def test_weights_that_did_not_move_get_random_values():
    found = visited(Exposure.RANDOM_WEIGHTS)
    assert [visit.name for visit in found] == [f"random weights {number}" for number in (1, 2, 3, 4)]
    assert all(isinstance(visit, Visit) and visit.state.step == 20 + i for i, visit in enumerate(found))
    assert len({float(visit.state.weights["a"]) for visit in found}) == 4
    assert all(visit.has_random_weights for visit in found)


@pytest.mark.parametrize("number, mean, deviation", [(1, 2, 1), (2, 0, 0.25), (3, -2, 1), (4, 0, 0.25)])
def test_random_weights_are_as_large_as_the_weights_or_far_from_zero_on_either_side(number, mean, deviation):
    state = State(0, {"w": np.full(10000, 0.25, np.float32)}, {}, {}, {})
    drawn = random_visit(state, number).state.weights["w"]
    assert abs(np.mean(drawn) - mean) < 0.1 and abs(np.std(drawn) - deviation) < 0.1


def test_weights_that_have_not_moved_are_brought_near_zero():
    """There a gradient moves them that is rounded off beside them; the other weights stay."""
    last = State(20, {"a": np.float32(1), "b": np.float32(2)}, {}, {}, {})
    (found,) = small_weights(last, ["b"])
    assert found.state.weights == {"a": 1, "b": np.float32(2.0**-59)}
    assert list(small_weights(last, [])) == list(small_weights(last, ["of another kind"])) == []
