"""One run of a small lift's towers on made-up data: its losses and gradients, or its error."""

import numpy as np

from legacy.saved.data_trial.trial_run import TrialOutcome, TrialRunner
from tests.small_lift import small_graph, small_plan


def outcome(change=lambda plan: None, start=2.0):
    plan = small_plan()
    change(plan)
    return TrialRunner(plan, small_graph(), {"w": np.float32(start)}).run(plan.inputs, 2, seed=0)


def test_a_run_that_shows_something_is_good():
    assert outcome() == TrialOutcome("", finite=True, trains=True) and outcome().is_good


def test_losses_that_are_not_finite_show_nothing():
    assert outcome(start=np.inf) == TrialOutcome("", finite=False, trains=True)
    assert not outcome(start=np.inf).is_good


def test_a_tower_without_gradients_does_not_train():
    def no_gradients(plan):
        plan.phases[0].gradients = [{}, {}]

    assert outcome(no_gradients) == TrialOutcome("", finite=True, trains=False)


def test_an_error_is_the_outcomes_message():
    def three_numbers(plan):
        plan.inputs[0].shape, plan.inputs[0].example = [None, 3], [None, 3]

    failed = outcome(three_numbers)
    assert failed.message and not failed.is_good
