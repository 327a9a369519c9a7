"""The training loop: where it stops, what it saves, what it shows, and what a signal does."""

import doctest
import io
import json
import os
import signal

import numpy as np
import pytest

from tests.cases import Dyadic
from workloads.job import Job
from workloads.program import Program, State
from workloads.support.errors import InputError
from workloads.training import loop, summaries
from workloads.training.checkpoint_saver import CheckpointSaver
from workloads.training.checkpoints import Checkpoints


class Counting(Program):
    """A program whose one weight counts its steps."""

    side = "counting"

    def __init__(self, at=0, on_run=None):
        self._step, self.portions, self._on_run = at, [], on_run

    def variables(self):
        return ()

    def describe(self):
        return {}

    def load(self, state):
        self._step = int(state.weights["w"])

    def state(self):
        return State(self._step, {"w": np.float32(self._step)}, {}, {}, {})

    def run(self, steps):
        self._step += steps
        self.portions.append(steps)
        if self._on_run is not None:
            self._on_run(self._step)
        return [np.float32(self._step)] * 2


def lines(program, steps, log_every, kept=None):
    """(JSON lines, result) of a training."""
    file = io.StringIO()
    out = loop.Output("counting", as_json=True, file=file)
    result = loop.train_program(program, Job(Dyadic()), steps, log_every, out, loop.Hooks(kept))
    return [json.loads(line) for line in file.getvalue().splitlines()], result


@pytest.mark.parametrize("step, stop", [(0, 20), (20, 30), (45, 50), (80, 90), (90, 95)])
def test_it_stops_where_a_line_or_a_checkpoint_is_due(step, stop):
    assert loop.next_stop(step, 95, 50, 30, 20) == min(stop, 60 if step == 50 else stop)
    assert loop.next_stop(step, 95, None, 1000) == 95


def test_lines_and_portions():
    program = Counting()
    seen, result = lines(program, 25, 10)
    assert [line["step"] for line in seen if "step" in line] == [10, 20, 25]
    assert program.portions == [10, 10, 5]
    assert result == (25.0, 25)


def test_it_goes_on_from_the_newest_checkpoint(tmp_path):
    def kept():
        return CheckpointSaver(Checkpoints(str(tmp_path), Job(Dyadic())), 10, lambda line: None)

    first = kept()
    assert first.resume(Counting()) == 0
    lines(Counting(), 25, 100, first)
    assert sorted(os.listdir(tmp_path)) == ["step-00000010", "step-00000020", "step-00000025"]
    program = Counting()
    assert kept().resume(program) == 25
    _, result = lines(program, 40, 100, kept())
    assert result[1] == 40 and sum(program.portions) == 15


def test_a_signal_ends_it_saved(tmp_path):
    told = []
    kept = CheckpointSaver(Checkpoints(str(tmp_path), Job(Dyadic())), 1000, told.append)
    before = signal.getsignal(signal.SIGUSR1)
    kept.listen([signal.SIGUSR1])
    try:
        program = Counting(on_run=lambda step: step == 20 and os.kill(os.getpid(), signal.SIGUSR1))
        _, (_, reached) = lines(program, 100, 10, kept)
        assert signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL  # a second one would end the process as it is
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert reached == 20
    assert os.listdir(tmp_path) == ["step-00000020"]
    assert told == ["stopped by a signal at step 20, which is saved"]


def test_the_number_of_the_signal_is_known_and_a_closed_saving_listens_to_none(tmp_path):
    kept = CheckpointSaver(Checkpoints(str(tmp_path), Job(Dyadic())), 1000, lambda line: None)
    before = signal.getsignal(signal.SIGUSR2)
    kept.listen([signal.SIGUSR2])
    program = Counting(on_run=lambda step: step == 20 and os.kill(os.getpid(), signal.SIGUSR2))
    lines(program, 100, 10, kept)
    assert kept.stopped_by == signal.SIGUSR2
    kept.close()
    assert signal.getsignal(signal.SIGUSR2) == before


def test_where_steps_take_long_a_signal_is_looked_for_after_each(tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "PORTION_SECONDS", 0.0)
    program = Counting()
    lines(program, 4, 100, CheckpointSaver(Checkpoints(str(tmp_path), Job(Dyadic())), 1000, lambda line: None))
    assert program.portions == [1, 1, 1, 1]
    monkeypatch.setattr(loop, "PORTION_SECONDS", 1000.0)
    program = Counting()
    lines(program, 40, 100, CheckpointSaver(Checkpoints(str(tmp_path), Job(Dyadic())), 1000, lambda line: None))
    assert program.portions == [1, 39]


def test_tensorboard_gets_loss_rate_and_speed(tmp_path):
    import tensorflow as tf

    shown = summaries.Summaries(str(tmp_path))
    loop.train_program(Counting(), Job(Dyadic()), 4, 2, loop.Output("counting", file=None), loop.Hooks(summaries=shown))
    shown.close()
    (path,) = tmp_path.iterdir()
    events = list(tf.compat.v1.train.summary_iterator(str(path)))
    seen = {(event.step, value.tag): value.simple_value for event in events for value in event.summary.value}
    assert seen[4, "total_loss"] == 4.0 and seen[2, "learning_rate"] == 2.0**-4
    assert seen[2, "examples_per_second"] > 0


def test_lines_for_people_and_none_for_a_silent_worker(capsys):
    file = io.StringIO()
    out = loop.Output("legacy", file=file)
    out.write_progress({"step": 20, "loss": 0.5, "examples_per_second": 4.0}, 40, True)
    out.write_memory(3 * 2**20)
    out.write_note("goes on")
    assert file.getvalue().splitlines() == [
        "legacy | step     20 of 40 | loss          0.5 |        4.0 examples/s (with start-up)",
        "peak memory 3 MiB",
        "goes on",
    ]
    loop.Output("legacy", file=None).write_note("nothing")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("steps, log_every", [(0, 1), (1, 0)])
def test_steps_must_be_positive(steps, log_every):
    loop.check_steps(1, 1)
    with pytest.raises(InputError, match="must be at least 1"):
        loop.check_steps(steps, log_every)


def test_examples():
    found = doctest.testmod(loop)
    assert found.attempted == 1 and found.failed == 0
