"""The best state of a run: which is kept, and what a resumed run compares with."""

import json

import numpy as np
import pytest

from tests.cases import Dyadic
from workloads.job import Job
from workloads.program import State
from workloads.support.errors import InputError
from workloads.training.best_checkpoint import BestCheckpoint
from workloads.training.checkpoints import Checkpoints

JOB = Job(Dyadic())


def best(folder, metric):
    return BestCheckpoint(metric, str(folder), Checkpoints(str(folder), JOB, keep=1))


def state(step):
    return State(step, {"w": np.float32([step])}, {}, {}, {})


@pytest.mark.parametrize(
    "metric, values, kept",
    [("a", [0.5, 0.75, 0.75, 0.25], 1), ("-a", [0.5, 0.75, 0.25], 2), ("a", [0.5, float("nan")], 0)],
)
def test_the_highest_or_the_lowest_is_kept(tmp_path, metric, values, kept):
    run = best(tmp_path, metric)
    taken = [run.offer(state(step), {"a": value}) for step, value in enumerate(values)]
    assert max(step for step, was in enumerate(taken) if was) == kept
    assert run.state(state(9), print).weights["w"] == [kept]
    assert json.loads((tmp_path / "best.json").read_text()) == {"metric": metric, "value": values[kept], "step": kept}


def test_a_resumed_run_compares_with_what_was_kept(tmp_path):
    best(tmp_path, "a").offer(state(1), {"a": 0.5})
    again = best(tmp_path, "a")
    assert not again.offer(state(2), {"a": 0.25}) and again.offer(state(3), {"a": 0.75})
    assert best(tmp_path, "-a").offer(state(4), {"a": 9.0})  # another metric begins anew


def test_an_unknown_metric_is_refused(tmp_path):
    with pytest.raises(InputError, match="--keep_best: got 'b', allowed: a, or - before one"):
        best(tmp_path, "b").offer(state(1), {"a": 0.5})


def test_without_an_evaluation_the_last_state_is_the_best(tmp_path):
    assert best(tmp_path, "a").state(state(9), print).step == 9
