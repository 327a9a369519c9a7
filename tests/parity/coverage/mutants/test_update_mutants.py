"""Mutants of the optimizer's constants, and updates left out."""

import dataclasses

import pytest

from parity.comparison.tour import Visit
from parity.coverage import formulas
from parity.coverage.mutants import update_mutants
from parity.coverage.visits.job_visits import random_visit
from tests.parity.coverage.cases import dyadic_job, observed, seen
from tests.parity.step_records import made_up_state
from workloads import optimizers


def adam_step(gradient, v=0.0, **record):
    job = dyadic_job(optimizer=optimizers.Adam())
    slots = {"w/m": [0.0, 0.0], "w/v": [v, v], "beta1_power": 0.9, "beta2_power": 0.999}
    return job, observed(job, {"slots": slots}, combined={"w": [gradient] * 2}, **record)


def test_every_constant_of_adam_shows_in_a_step_with_small_gradients():
    job, step = adam_step(2.0**-16)
    assert seen(update_mutants.optimizer_mutants(job), step) == {
        "optimizer.beta1",
        "optimizer.beta2",
        "optimizer.epsilon",
    }


def test_epsilon_hides_beside_a_large_second_moment():
    job, step = adam_step(1.0, v=2.0**40, visit=Visit("weights doubled", made_up_state()))
    assert "optimizer.epsilon" not in seen(update_mutants.optimizer_mutants(job), step)


def test_an_initial_slot_shows_at_the_first_step_only():
    job = dyadic_job(optimizer=optimizers.Adagrad())
    first, later = (
        observed(job, {"slots": {"w/accumulator": [1.0, 1.0]}}, combined={"w": [1.0, 1.0]}, step=number)
        for number in (0, 1)
    )
    assert seen(update_mutants.optimizer_mutants(job), first) == {"optimizer.initial_accumulator"}
    assert seen(update_mutants.optimizer_mutants(job), later) == set()


def test_an_initial_slot_cannot_matter_to_a_run_from_later_ones_and_a_decay_can():
    job = dyadic_job(optimizer=optimizers.Adagrad())
    slots = {"slots": {"w/accumulator": [1.0, 1.0]}}
    later = observed(job, slots, combined={"w": [1.0, 1.0]}, step=7)
    visited = observed(job, slots, combined={"w": [1.0, 1.0]}, step=7, visit=Visit("a state", made_up_state()))
    for step, cannot_matter in ((later, True), (visited, False)):
        (mutant,) = update_mutants.optimizer_mutants(job)
        assert not seen([mutant], step) and bool(mutant.harmless()) == cannot_matter
    job, step = adam_step(0.0, step=7)
    mutants = list(update_mutants.optimizer_mutants(job))
    seen(mutants, step)
    assert not any(mutant.harmless() for mutant in mutants), "its powers start from the decays, which it uses as well"


def test_the_kernels_compute_the_update():
    momentum = optimizers.Momentum(0.5)
    before = dataclasses.replace(
        observed(dyadic_job()).before, slots={"w/momentum": observed(dyadic_job()).before.weights["w"]}
    )
    after = formulas.updated_state(momentum, before, [{"w": before.weights["w"]}], 0.25, "float64")
    assert after.slots["w/momentum"].tolist() == [1.5, 3.0]  # 0.5 * (1, 2) + (1, 2)
    assert after.weights["w"].tolist() == [0.625, 1.25] and after.weights["w"].dtype == "float64"


@pytest.mark.parametrize("after, expected", [([1.0, 2.5], {"update of w"}), ([1.0, 2.0], set())])
def test_an_update_left_out_shows_where_the_weight_moves(after, expected):
    step = observed(dyadic_job(), after={"weights": {"w": after}})
    mutants = list(update_mutants.left_out_mutants(["w"], lambda name: f"{name} is not used"))
    assert seen(mutants, step) == expected
    assert mutants[0].harmless() == "w is not used"


@pytest.mark.parametrize("kind, choice", [("statistics", "statistics"), ("averages", "moving_average")])
def test_a_change_of_a_statistic_left_out_shows_where_it_changes(kind, choice):
    [mutant] = update_mutants.left_out_changes({"s": kind})
    changed, same = (observed(dyadic_job(), {kind: {"s": [1.0]}}, after={kind: {"s": [s]}}) for s in (2.0, 1.0))
    assert seen([mutant], changed) == {"change of s"} and seen([mutant], same) == set()
    assert mutant.choice.value == choice and mutant.hidden() == "the variable changes in no compared step"


def test_a_weight_without_gradient_at_random_weights_too_cannot_move():
    job, log = dyadic_job(), update_mutants.GradientLog()
    log.add(observed(job, combined={"w": [0.0, 0.0], "v": [0.0, 1.0]}))
    assert log.any and log.why_still("w") == ""  # it may be a rectifier that sleeps
    for number in range(update_mutants.ENOUGH_RANDOM):
        visit = random_visit(made_up_state(), number)
        log.add(observed(job, combined={"w": [0.0, 0.0], "v": [0.0, 1.0]}, visit=visit))
    assert "zero in every compared step" in log.why_still("w") and log.why_still("v") == ""


def test_the_replicas_gradients_tell_where_none_are_combined():
    """As of a port whose whole step is code."""
    job, log = dyadic_job(), update_mutants.GradientLog()
    for number in range(update_mutants.ENOUGH_RANDOM):
        gradients = [{"w": [0.0, 0.0], "v": [0.0, 0.0]}, {"w": [0.0, 0.0], "v": [0.0, 1.0]}]
        log.add(observed(job, gradients=gradients, combined={}, visit=random_visit(made_up_state(), number)))
    assert "2 of them at random weights" in log.why_still("w") and log.why_still("v") == ""


def test_a_train_op_of_other_weights_does_not_show_that_a_weight_has_no_gradient():
    """The generator's step says nothing of the critic's last bias; nor does any of a weight that no step trains."""
    job, log = dyadic_job(), update_mutants.GradientLog()
    for number in range(2 * update_mutants.ENOUGH_RANDOM):
        combined = {"w": [0.0, 0.0]} if number % 4 == 0 else {"v": [0.0, 1.0]}
        log.add(observed(job, combined=combined, visit=random_visit(made_up_state(), number)))
    assert log.why_still("w") == "" and log.why_still("never asked for") == ""
    log.add(observed(job, combined={"w": [0.0, 0.0]}, visit=random_visit(made_up_state(), 1)))
    assert log.why_still("w") == "its gradient is zero in every compared step, 2 of them at random weights"
