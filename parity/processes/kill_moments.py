"""Moments at which a training run is killed: at a step, during its start-up, and while a checkpoint is written."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from parity.processes import kill_and_resume
from parity.processes.kill_and_resume import Kill, TrainingRun

#: Kinds of moments.
STEP, START, SAVING = "step", "start-up", "saving"

#: Seconds after the beginning of a checkpoint's writing, at most, and seconds between two looks for it.
WRITING, LOOK = 0.03, 0.0005


class Moment(NamedTuple):
    """A moment of a kill.

    Attributes:
      kind: one of the kinds above.
      step: the step that must have been reported before; not for the start-up.
      seconds: time to wait, from the start of the processes or from that step or writing.
    """

    kind: str
    step: int
    seconds: float


def draw_moments(
    kills: int, steps: int, every: int, start_seconds: float, train_seconds: float, rng: random.Random
) -> list[Moment]:
    """Draws the moments of a run's kills: a quarter each at start-ups and while saving, the others at steps.

    Args:
      kills: number of moments.
      steps: of the run; more than `kills`.
      every: steps from one checkpoint to the next.
      start_seconds: time from the start of the processes to the first step.
      train_seconds: time from the first step to the last.
      rng: chooses.

    Returns:
      the moments, in the order of their steps.
    """
    kinds = [START] * (kills // 4) + [SAVING] * (kills // 4)
    kinds += [STEP] * (kills - len(kinds))
    rng.shuffle(kinds)
    moments, longest = [], {STEP: min(0.1, train_seconds / (4 * kills)), START: start_seconds, SAVING: WRITING}
    for kind, step in zip(kinds, sorted(rng.sample(range(1, steps), kills))):
        last = max(1, steps - 2 * every)  # there is a checkpoint to be written afterwards
        moments.append(Moment(kind, min(step, last) if kind == SAVING else step, rng.uniform(0.0, longest[kind])))
    return moments


def train_killed_at(
    folder: str,
    arguments: Sequence[str],
    workers: int,
    moments: Sequence[Moment],
    rng: random.Random,
    progress: Callable[[int], object],
) -> list[Kill]:
    """Trains to the end, killed on the way and started again each time.

    Args:
      folder: where the checkpoints are.
      arguments: command-line flags of `modern.train`.
      workers: number of processes.
      moments: of the kills.
      rng: chooses the worker that is killed at a step.
      progress: called with each step that is reported.

    Returns:
      the kills.

    Raises:
      Lost: a worker failed, or did not end when its peer was killed, or a process outlived its parent.
    """
    kills = []
    for moment in moments:
        run = TrainingRun(folder, arguments, workers)
        try:
            kill = _kill_at(run, folder, moment, rng.randrange(workers))
            if kill is None:
                run.wait()
            else:
                kills.append(kill)
                progress(kill.step)
        finally:
            run.close()
    kill_and_resume.train_to_end(folder, arguments, workers, progress)
    return kills


def _kill_at(run: TrainingRun, folder: str, moment: Moment, worker: int) -> Kill | None:
    """Kills a run; returns None if it ended before."""
    if moment.kind == START:
        time.sleep(moment.seconds)
        return Kill(newest_step(folder), 0, run.kill_all())
    reached = next((step for step in run.steps() if step >= moment.step), None)
    if reached is None or (moment.kind == SAVING and not _wait_for_writing(run, folder)):
        return None
    time.sleep(moment.seconds)
    worker = 0 if moment.kind == SAVING else worker  # the first one writes
    return Kill(reached, worker, run.kill(worker))


def _wait_for_writing(run: TrainingRun, folder: str) -> bool:
    """Waits until a checkpoint begins to be written, or has been written meanwhile; False if the run ends instead."""
    run.drain()  # a full pipe would stop it
    before = _checkpoints(folder)
    while _checkpoints(folder) <= before:
        if not run.alive:
            return False
        time.sleep(LOOK)
    return True


def _checkpoints(folder: str) -> set[str]:
    """The names of checkpoints in `folder`, those that are being written included."""
    return {name for name in os.listdir(folder) if name.startswith((".step-", "step-"))}


def newest_step(folder: str) -> int:
    """Returns the step of the newest checkpoint in `folder`; 0 if there is none."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return max((int(name[len("step-") :]) for name in names if name.startswith("step-")), default=0)
