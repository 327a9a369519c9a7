"""Mutants of combining, clipping and decay, from gradients whose norms are 5 and 10."""

import pytest

from parity.coverage.mutant import Exposure
from parity.coverage.mutants import gradient_mutants
from tests.parity.coverage.cases import dyadic_job, names, observed, seen
from workloads.workload import Clip

GRADIENTS = [{"w": [3.0, 4.0]}, {"w": [6.0, 8.0]}]


def shown(clip=None, gradients=GRADIENTS, replicas=2, **fields):
    job = dyadic_job(replicas, clip=clip, **fields)
    step = observed(job, gradients=gradients, combined={"w": [4.5, 6.0]})
    mutants = list(gradient_mutants.combine_mutants(job))
    return names(mutants), seen(mutants, step)


def test_mean_or_sum_and_staleness_show_in_any_step():
    assert shown() == ({"combine", "staleness"}, {"combine", "staleness"})


def test_nothing_shows_where_the_gradients_are_zero():
    job = dyadic_job()
    step = observed(job, gradients=[{"w": [0.0, 0.0]}] * 2, combined={"w": [0.0, 0.0]})
    assert seen(gradient_mutants.combine_mutants(job), step) == set()


CLIPS = {"clip.limit", "clip.none", "clip.how", "clip.where", "clip.always"}


@pytest.mark.parametrize(
    "limit, clips",
    [
        (4.0, {"clip.limit", "clip.none", "clip.how", "clip.where"}),  # clipped always: "always" is no other program
        (64.0, {"clip.always"}),  # never clipped
    ],
)
def test_clipping_shows_where_it_acts_and_its_absence_where_it_does_not(limit, clips):
    all_names, seen_names = shown(Clip(limit, "tower", "global_norm"))
    assert all_names >= CLIPS
    assert seen_names & CLIPS == clips


@pytest.mark.parametrize("limit, is_seen", [(0.3, False), (64.0, True)])
def test_clipping_by_a_norm_hides_the_reduction_and_its_own_condition(limit, is_seen):
    """Numbers that round: no bit of gradients that are clipped all the same tells them apart."""
    job = dyadic_job(clip=Clip(limit, "combined"))
    step = observed(job, gradients=[{"w": [0.7, 0.1]}, {"w": [0.9, 1.3]}], combined={"w": [0.0, 0.0]})
    found = seen(gradient_mutants.combine_mutants(job), step)
    assert ({"combine", "clip.always"} <= found) == is_seen and bool({"combine", "clip.always"} & found) == is_seen
    [combine] = [mutant for mutant in gradient_mutants.combine_mutants(job) if mutant.name == "combine"]
    assert combine.exposure is Exposure.SMALL_GRADIENTS and "smaller gradients" in combine.hidden()


def test_one_replica_has_no_place_and_no_reduction():
    job = dyadic_job(1, clip=Clip(4.0))
    mutants = {mutant.name: mutant for mutant in gradient_mutants.combine_mutants(job)}
    assert "clip.where" not in mutants and mutants["combine"].harmless()


def test_clipping_by_value_has_no_scale():
    mutants = {m.name: m for m in gradient_mutants.combine_mutants(dyadic_job(clip=Clip(1.0, "tower", "value")))}
    assert mutants["clip.always"].harmless() and not mutants["clip.none"].harmless()


@pytest.mark.parametrize("weights, expected", [([1.0, 2.0], {"decay of w"}), ([0.0, 0.0], set())])
def test_decay_shows_where_the_weight_is_not_zero(weights, expected):
    step = observed(dyadic_job(), {"weights": {"w": weights}}, gradients=[{"w": [1.0, 1.0]}] * 2)
    assert seen(gradient_mutants.decay_mutants({"w": 0.5}), step) == expected


def test_gradients_that_are_applied_alone_are_clipped_alone():
    job = dyadic_job(clip=Clip(4.0, "tower"))
    late = job.__class__(job.workload, 2, 8, staleness=1)
    step = observed(late, gradients=GRADIENTS, combined={"update 0: w": [0.0, 0.0], "update 1: w": [3.0, 4.0]})
    assert {"clip.limit", "clip.none"} <= seen(gradient_mutants.combine_mutants(late), step)
    assert [sorted(update) for update in step.updates] == [["w"]]  # the first update of step 0 has no gradient yet
