"""The study's page: its answer and its table, on outcomes that are made up."""

from parity.experiments.sync_or_async import page, runs
from parity.experiments.sync_or_async.loss_table import BETTER, WORSE, loss_tables
from tests.parity.experiments.sync_or_async.made_up_outcomes import outcomes

NAN = float("nan")


def rows(finals, learning_rate=0.1):
    return loss_tables(outcomes(finals, learning_rate))["regression"]


def answer(finals):
    return page.answer("regression", rows(finals), 4)


def test_a_gain_seed_by_seed_is_useful_even_where_seeds_differ_more():
    text = answer({None: [0.3, 0.5, 0.7], 1: [0.2, 0.4, 0.61]})
    assert "asynchronous training is useful at 0.1 with staleness 1; it overshoots nowhere." in text


def test_a_loss_and_a_divergence_are_overshooting():
    text = answer({None: [0.3, 0.5, 0.7], 2: [0.4, 0.6, 0.81], 8: [0.4, NAN, 0.7]})
    assert "is useful nowhere; it overshoots at 0.1 with staleness 2, 8." in text and "staleness 8 none" in text


def test_no_difference_is_neither():
    text = answer({None: [0.3, 0.5, 0.7]})
    assert "is useful nowhere; it overshoots nowhere." in text


def test_as_far_as_is_at_so_many_times_the_learning_rate():
    made = outcomes({None: [0.3, 0.5, 0.7]}, 0.1) + outcomes({None: [0.9, 0.8, 0.7], 4: [0.2, 0.4, 0.61]}, 0.025)
    text = page.answer("regression", loss_tables(made)["regression"], 4)
    assert "times the learning rate, it is useful at 0.025 with staleness 4;" in text


def test_comparisons_are_grouped_by_their_result():
    compared = page.compare_with_sync(rows({None: [0.3, 0.5, 0.7], 1: [0.2, 0.4, 0.61], 2: [0.4, 0.6, 0.81]}), 1)
    assert compared[BETTER] == [(0.1, 1)] and compared[WORSE] == [(0.1, 2)]
    assert compared[None] == [(0.1, 0), (0.1, 4), (0.1, 8)]


def test_nothing_is_compared_where_both_diverge_or_the_other_learning_rate_is_missing():
    assert page.compare_with_sync(rows({None: [0.3, NAN, 0.7]}), 1) == {BETTER: [], WORSE: [], None: []}
    assert page.compare_with_sync(rows({None: [0.3, 0.5, 0.7]}), 4) == {BETTER: [], WORSE: [], None: []}


def test_the_best_learning_rate_has_the_lowest_mean():
    made = outcomes({None: [0.25, 0.5, 0.75]}, 0.5) + outcomes({None: [0.5, 0.75, 0.25 - 2**-4]}, 0.25)
    text = page.answer("regression", loss_tables(made)["regression"], 4)
    assert "synchronous 0.4792 (at 0.25)" in text and "every run trains: synchronous 0.5, " in text


def test_the_table_has_means_with_intervals_or_the_runs_that_diverged():
    heading, rule, row = page.table_lines(rows({None: [0.5, 0.5, 0.5], 8: [NAN, 0.5, 0.5]}))
    assert (
        heading
        == "| learning rate | synchronous | staleness 0 | staleness 1 | staleness 2 | staleness 4 | staleness 8 |"
    )
    assert rule == "|---|---|---|---|---|---|---|"
    assert row == "| 0.1 | 0.5 ± 0 | 0.5 ± 0 | 0.5 ± 0 | 0.5 ± 0 | 0.5 ± 0 | diverged 1/3 |"


def test_the_page_has_the_question_the_tables_and_the_duration():
    tables = loss_tables(outcomes({None: [0.5, 0.5, 0.5]}))
    lines = list(page.page_lines(tables, 4, "18 runs.", 2.4))
    assert lines[0] == "# Synchronous or asynchronous?" and lines[-1] == "2 s."
    assert runs.__doc__.splitlines()[0] in lines and "18 runs." in lines and "## regression" in lines
