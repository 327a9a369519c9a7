"""Evaluations in the course of a run: when they are due, and where their results go."""

import io
import json

import pytest

from tests.cases import Dyadic
from workloads.job import Job
from workloads.program import Program, State
from workloads.support.errors import InputError
from workloads.training import loop
from workloads.training.evaluation import Evaluated
from workloads.training.periodic_evaluation import PeriodicEvaluation


class Counting(Program):
    """A program whose state is the number of its steps."""

    def __init__(self, step=0):
        self._step = step

    def variables(self):
        return ()

    def describe(self):
        return {}

    def state(self):
        return State(self._step, {}, {}, {}, {})

    def run(self, steps):
        self._step += steps
        return [0.0]


class Noted:
    """An evaluation, and summaries, that note what they get."""

    def __init__(self):
        self.steps, self.scalars = [], []

    def evaluate(self, state):
        self.steps.append(state.step)
        return Evaluated({"accuracy": state.step / 16}, 10)

    def write(self, step, scalars):
        self.scalars.append((step, scalars))


@pytest.mark.parametrize("every, steps", [(3, [3, 6, 8]), (None, [8]), (8, [8])])
def test_they_are_due_every_so_many_steps_and_at_the_end(every, steps):
    noted, text = Noted(), io.StringIO()
    out = loop.Output("counting", as_json=True, file=text)
    loop.train_program(
        Counting(), Job(Dyadic()), 8, 100, out, loop.Hooks(evaluation=PeriodicEvaluation(noted, every, out, noted))
    )
    assert noted.steps == steps
    assert noted.scalars[-1] == (8, {"evaluation/accuracy": 0.5})
    lines = [json.loads(line) for line in text.getvalue().splitlines()]
    assert {"step": 8, "evaluation": {"accuracy": 0.5}, "examples": 10} in lines


def test_a_finished_run_is_evaluated():
    noted, text = Noted(), io.StringIO()
    out = loop.Output("counting", file=text)
    loop.train_program(
        Counting(8), Job(Dyadic()), 8, 100, out, loop.Hooks(evaluation=PeriodicEvaluation(noted, None, out, noted))
    )
    assert "counting | step      8 | evaluation of 10 examples: accuracy 0.5" in text.getvalue()


def test_a_worker_that_is_not_the_chief_evaluates_nothing():
    out = loop.Output("counting", file=None)
    assert PeriodicEvaluation(None, None, out, Noted()).after(Counting(), 8, True) is None


def test_refused_periods():
    with pytest.raises(InputError, match="--eval_every: got 0, must be at least 1"):
        PeriodicEvaluation(Noted(), 0, loop.Output("counting", file=None), Noted())
