"""Conventions of another number of replicas than towers."""

import dataclasses
import doctest

import pytest

from tests.small_lift import small_plan
from workloads.lifted import replication
from workloads.lifted.replication import (
    corresponding_crossings,
    own_number_only,
    replica_counts,
    replica_of_tower,
    require_whole_loops,
    tower_of_crossing,
    tower_of_replica,
    towers_differ,
    unequal_parts,
)
from workloads.support.errors import InputError


def test_the_docstrings_examples_hold():
    assert doctest.testmod(replication).failed == 0


def test_a_plain_mean_runs_at_any_number():
    assert own_number_only(small_plan()) == ""


def test_what_forbids_another_number_is_named():
    plan = small_plan()
    plan.phases[0].returns = [["mean:0"], ["mean:0"]]
    assert own_number_only(plan) == "each tower's gradients depend on all towers' results"
    plan.phases[0].returns = [[], ["mean:0"]]
    assert own_number_only(plan) == "the gradients of tower 1 depend on another tower's results"
    plan.phases[0].sizes_alone = True
    assert own_number_only(plan) == "each tower's gradients depend on the sizes of all towers' batches"
    plan.phases[0].combine[0].kind = "kept as written"
    assert own_number_only(plan) == "this graph combines gradients in a way that is not recognised (w)"
    plan.phases[0].combine[0].parts[1] = []
    assert own_number_only(plan) == "weights are trained by one tower's gradients alone (w)"
    first = plan.phases[0].combine[0]
    plan.phases[0].combine.append(dataclasses.replace(first, parts=first.parts[::-1]))  # the other tower's, of w too
    assert own_number_only(plan) == "several towers update the same weights, each by its own gradients (w)"
    plan.phases[0].combine.pop()
    plan.phases[0].combine[0].weight = "accumulated"
    assert own_number_only(plan) == "each tower adds its gradients to variables of its own (accumulated)"


def test_gradients_behind_an_update_forbid_another_number():
    plan = small_plan()
    plan.updated = ["d/w"]
    assert own_number_only(plan) == "gradients take weights that the same run has updated before (d/w)"


def test_loops_that_another_tower_differentiates_are_run_by_no_replica():
    plan = small_plan()
    require_whole_loops(plan)
    plan.divided_loops = ["tower_0/while/Tanh:0", "tower_0/while/Identity:0"]
    assert replica_counts(plan).startswith("none: a tower takes tower_0/while/Tanh:0 and 1 more out of another's while")
    with pytest.raises(InputError, match="no replica runs this lift: a tower takes tower_0/while/Tanh:0"):
        require_whole_loops(plan)


def test_parts_of_unequal_size_are_told():
    plan = small_plan()
    assert unequal_parts(plan) == "" and replica_counts(plan) == "any number"
    entry = next(entry for entry in plan.inputs if entry.kind == "batch")
    last = plan.tensors[entry.tensors[-1]]
    plan.tensors[entry.tensors[-1]] = last._replace(shape=[36, *last.shape[1:]])
    assert unequal_parts(plan).startswith("towers take ") and unequal_parts(plan).endswith(
        f", 36 rows of {entry.name}, and replicas take equal numbers"
    )
    assert replica_counts(plan) == f"none: {unequal_parts(plan)}"


@pytest.mark.parametrize("towers, replicas", [(2, 1), (2, 4), (4, 3), (3, 3)])
def test_the_replica_that_stands_for_the_first_or_last_tower_runs_it(towers, replicas):
    for tower in (0, towers - 1):
        stands_for = replica_of_tower(tower, towers, replicas)
        assert replicas == 1 or tower_of_replica(stands_for, replicas, towers, differ=True) == tower


def test_crossings_correspond_by_their_row_and_by_twins():
    phase = small_plan().phases[0]
    phase.crossings.append([None, "only1:0"])
    phase.twins = {"only1:0": "like1:0"}
    assert (tower_of_crossing(phase, "g1:0"), tower_of_crossing(phase, "only1:0")) == (1, 1)
    assert corresponding_crossings(phase, "g1:0", 0) == ["g0:0"]
    assert corresponding_crossings(phase, "only1:0", 0) == ["like1:0"]


def test_replicas_run_other_towers_too_where_the_first_one_lacks_what_the_update_reads():
    plan = small_plan()
    assert not towers_differ(plan)
    plan.phases[0].crossings.append([None, "only1:0"])
    assert towers_differ(plan)
    plan.phases[0].twins = {"only1:0": "like1:0"}
    assert not towers_differ(plan)
    plan.phases[0].twins, plan.phases[0].state_crossings = {}, {"only1:0": "set_own_state"}
    assert not towers_differ(plan)
