"""Cells of the study's table, on outcomes that are made up."""

import pytest

from parity.experiments.sync_or_async.loss_table import BETTER, WORSE, Cell, loss_tables
from parity.experiments.sync_or_async.runs import STALENESS, RunLosses, StudyRun
from tests.parity.experiments.sync_or_async.made_up_outcomes import outcomes

NAN = float("nan")


def cell(*finals, first=1.0):
    return Cell(
        [RunLosses(StudyRun("regression", 0.1, None, seed, 4, 10), first, final) for seed, final in enumerate(finals)]
    )


def test_a_cell_has_the_mean_of_its_final_losses():
    interval = cell(0.25, 0.5, 0.75).interval
    assert interval.mean == 0.5 and interval.half == pytest.approx(4.303 * 0.25 / 3**0.5)


def test_a_cell_with_a_run_that_diverged_has_no_mean():
    diverged = cell(0.25, NAN, 1.0)
    assert diverged.interval is None and diverged.diverged == 2 and diverged.runs == 3


def test_a_difference_beyond_its_interval_is_better_or_worse():
    low, high = cell(0.2, 0.4, 0.61), cell(0.3, 0.5, 0.7)
    assert low.compared_with(high) == BETTER and high.compared_with(low) == WORSE


def test_a_difference_within_its_interval_is_none():
    assert cell(0.2, 0.5, 0.8).compared_with(cell(0.3, 0.5, 0.7)) is None
    assert cell(0.3, 0.5, 0.7).compared_with(cell(0.3, 0.5, 0.7)) is None


def test_divergence_is_worse_than_training_and_no_difference_from_divergence():
    trained, diverged = cell(0.3, 0.5), cell(0.3, NAN)
    assert diverged.compared_with(trained) == WORSE
    assert trained.compared_with(diverged) is None and diverged.compared_with(diverged) is None


def test_rows_are_in_ascending_order_of_learning_rates():
    tables = loss_tables(outcomes({None: [0.3, 0.5, 0.7]}, 0.5) + outcomes({None: [0.3, 0.5, 0.7]}, 0.25))
    assert list(tables) == ["regression"] and list(tables["regression"]) == [0.25, 0.5]
    assert list(tables["regression"][0.25]) == list(STALENESS)
