"""The history of a comparison: losses of both sides, and the tensors that differ, with their tolerance."""

import dataclasses

import numpy as np
import pytest

from parity.comparison.history import History, LossPair, TensorStep, mean_loss
from parity.comparison.runs.options import Observers
from parity.comparison.runs.verification import verify
from parity.diagnosis.steps.replay import Replay
from tests.cases import Dyadic
from tests.parity.step_records import made_up_state, step_record
from workloads.job import Job


def program(losses, weights):
    """A program of one variable that has these losses, and these weights after each step."""
    states = [made_up_state({"w": [w]}, step=i) for i, w in enumerate([1.0, *weights])]
    records = [step_record(step=i, losses=[loss] * 2, state=states[i + 1]) for i, loss in enumerate(losses)]
    return Replay([], states[0], records)


@pytest.fixture
def history():
    kept = History()
    left, right = program([4.0, 2.0], [2.0, 4.0]), program([4.0, 1.0], [2.0, 8.0])
    verify(left, right, Job(Dyadic()), 2, observers=Observers(history=kept))
    return kept


@pytest.mark.parametrize(
    "losses, expected",
    [([1.0, 3.0], 2.0), ([[1.0, 3.0], [5.0, 7.0]], 4.0), ([[1.0, 3.0], 4.0], 3.0), ([], None)],
)
def test_mean_of_losses_that_may_have_shapes_of_their_own(losses, expected):
    assert mean_loss([np.array(loss, np.float32) for loss in losses]) == expected


def test_losses_of_both_sides(history):
    assert history.losses == [LossPair(0, 4.0, 4.0), LossPair(1, 2.0, 1.0)]


def test_only_what_differs_is_kept(history):
    assert history.differences == [
        TensorStep("loss", "replica 0", 1, 0.5, 0.0),
        TensorStep("loss", "replica 1", 1, 0.5, 0.0),
        TensorStep("weights", "w", 1, 1.0, 0.0),
    ]
    assert not any(entry.within for entry in history.differences)
    assert list(history.names) == ["initial values", "loss", "learning rate", "weights"]


def test_nan_on_one_side_is_an_infinite_difference():
    kept = History()
    verify(program([1.0], [2.0]), program([float("nan")], [2.0]), Job(Dyadic()), 1, observers=Observers(history=kept))
    assert {entry.relative for entry in kept.differences} == {float("inf")}


def test_nothing_is_kept_unless_it_is_asked_for():
    result = verify(program([1.0], [2.0]), program([1.0], [2.0]), Job(Dyadic()), 1)
    assert "history" not in {field.name for field in dataclasses.fields(result)}
