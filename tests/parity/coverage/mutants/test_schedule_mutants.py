"""Mutants of the schedule: what each one needs to be seen."""

from parity.coverage.mutants.schedule_mutants import schedule_mutants
from parity.coverage.schedules import RateFunction
from tests.parity.coverage.cases import dyadic_job, observed, seen
from workloads.schedules import EpochDecay, Fixed, PiecewiseConstant


def mutants_of(schedule, boundaries=()):
    job = dyadic_job(learning_rate=schedule)
    return job, list(schedule_mutants(job, RateFunction(schedule, job.global_batch), list(boundaries)))


FAR = PiecewiseConstant((350000,), (0.5, 0.25))


def test_a_far_boundary_shows_at_its_own_steps_only():
    job, mutants = mutants_of(FAR, [350001])
    assert seen(mutants, observed(job, step=3)) == {"schedule.rates[0]"}
    at = seen(mutants, observed(job, step=350001))
    assert "schedule.boundary at step 350,001" in at and "schedule.boundaries[0]" in at and "schedule.rates[1]" in at


def test_what_is_hidden_says_from_which_step_on():
    _, mutants = mutants_of(FAR, [350001])
    hidden = {(mutant.name, mutant.change): mutant.hidden() for mutant in mutants}
    assert hidden["schedule.boundaries[0]", "350000 -> 350001"].startswith("first at step 350,001")
    assert hidden["schedule.boundary at step 350,001", "one step early"].startswith("first at step 350,000")
    assert not any(mutant.harmless() for mutant in mutants)


def test_a_fixed_rate_counts_nothing():
    job, mutants = mutants_of(Fixed(0.5))
    assert [mutant.name for mutant in mutants] == ["schedule.rate"]
    assert seen(mutants, observed(job)) == {"schedule.rate"}


def test_a_schedule_that_counts_epochs_may_forget_the_towers():
    job, mutants = mutants_of(EpochDecay(1.0, epochs=1, examples_per_epoch=80, decay_rate=0.5))
    assert "schedule.global_batch" in seen(mutants, observed(job, step=10))  # ten steps of 8 examples, twenty of 4
    assert "schedule.global_batch" not in seen(mutants, observed(job, step=9))


def test_a_change_that_gives_the_same_rates_cannot_matter():
    _, mutants = mutants_of(EpochDecay(1.0, epochs=1, examples_per_epoch=81, decay_rate=0.5))
    reasons = {mutant.change: mutant.harmless() for mutant in mutants}
    assert reasons["81 -> 82"] == "gives the same learning rate at every step"  # int(81 / 8) steps
