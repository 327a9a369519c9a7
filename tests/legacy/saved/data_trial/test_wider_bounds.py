"""Bounds of made-up integers, widened on graphs whose needs are predicates."""

import dataclasses

import pytest

from legacy.saved.data_trial.trial_run import TrialOutcome
from legacy.saved.data_trial.trials import Fit
from legacy.saved.data_trial.wider_bounds import WiderBounds
from workloads.lifted.plan import Input

GOOD, BAD = TrialOutcome("", True, True), TrialOutcome("no")


class Graph:
    """Stands for `Trials`: a graph that runs if `runs` is true of its first input."""

    per_replica_batch = 4

    def __init__(self, runs, left=100):
        self._runs, self._left = runs, left

    def run(self, entries, batch):
        self._left -= 1
        return GOOD if self._runs(entries[0]) else BAD

    def runs_left(self):
        return self._left


def lengths(low, limit):
    return Input("lengths", "int32", [None], "batch", limit, ["lengths:0"], "lengths:0", low=low)


def widened(runs, **others):
    """Bounds that lengths of 6, with a least length of 1, get."""
    bounds = WiderBounds(Graph(runs, **others), [lengths(1, 0)])
    entry = bounds.with_other_lengths(Fit([lengths(6, 7)], None, GOOD)).entries[0]
    return entry.low, entry.limit, entry.has_full


@pytest.mark.parametrize(
    "runs, expected",
    [
        (lambda entry: True, (1, 7, False)),
        (lambda entry: entry.has_full, (1, 7, True)),
        (lambda entry: entry.has_full and entry.low > 2, (4, 7, True)),
        (lambda entry: entry.low == 6 and entry.limit == 7, (6, 7, False)),
    ],
)
def test_lengths_are_as_various_as_the_graph_takes(runs, expected):
    assert widened(runs) == expected


def several(runs, left=100):
    ones = dataclasses.replace(lengths(1, 2), name="mask")
    bounds = WiderBounds(Graph(runs, left), [dataclasses.replace(ones, low=0, limit=0)])
    entry = bounds.with_several_values(Fit([ones], None, GOOD)).entries[0]
    return entry.limit - entry.low


def test_integers_of_one_value_get_several_where_the_graph_runs_so():
    assert several(lambda entry: True) > 1
    assert several(lambda entry: entry.limit == entry.low + 1) == 1
    assert several(lambda entry: True, left=-1000) == 1
