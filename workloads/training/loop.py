"""Training loop of `legacy.train` and `modern.train`: loss and examples/s as it goes, peak memory at the end."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Optional, TextIO

from workloads.progress import display
from workloads.progress.progress import Progress
from workloads.support.errors import require
from workloads.support.machine import environment
from workloads.support.wording import counted

if TYPE_CHECKING:
    from workloads.job import Job
    from workloads.program import Program
    from workloads.training.checkpoint_saver import CheckpointSaver
    from workloads.training.periodic_evaluation import PeriodicEvaluation
    from workloads.training.summaries import Summaries


#: Seconds of training after which a signal is looked for, and the display updated.
PORTION_SECONDS = 1.0


class TrainingEnd(NamedTuple):
    """End of a training run.

    Attributes:
      loss: the last one printed, averaged over the replicas; None if no step was taken.
      step: the step that was reached, which is less than was asked for if a signal came.
    """

    loss: Optional[float]
    step: int


class Hooks(NamedTuple):
    """Work between the steps of a training run; each may be None.

    Attributes:
      saver: saves checkpoints.
      summaries: gets scalars for TensorBoard.
      evaluation: evaluates on data of its own.
    """

    saver: Optional[CheckpointSaver] = None
    summaries: Optional[Summaries] = None
    evaluation: Optional[PeriodicEvaluation] = None


def check_steps(steps: int, log_every: int) -> None:
    """Raises `InputError` unless both are positive."""
    require(steps >= 1, "--steps", steps, "must be at least 1")
    require(log_every >= 1, "--log_every", log_every, "must be at least 1")


def train_program(
    program: Program,
    job: Job,
    steps: int,
    log_every: int,
    out: Output,
    hooks: Hooks | None = None,
) -> TrainingEnd:
    """Runs `program` from its present step to step `steps`.

    Args:
      program: the `Program`.
      job: its `Job`.
      steps: the step to end at, counted from the beginning of the job.
      log_every: steps between lines of output.
      out: gets the lines.
      hooks: called between the steps; None for none.

    Returns:
      the last loss and the step reached.
    """
    saver, summaries, evaluation = hooks or Hooks()
    step, loss, longest = program.state().step, None, 1
    pace = _Pace(job.global_batch)
    progress = Progress(f"{program.side} {job.workload.name}")
    progress.stage("first step")
    in_portions = bool(program.agree(int(saver is not None or display.is_on())))
    if step >= steps and evaluation is not None:  # a finished run
        evaluation.after(program, step, last=True)
    while step < steps:
        portion = next_stop(step, steps, log_every, *[hook.every for hook in (saver, evaluation) if hook]) - step
        if in_portions:  # a signal is waited for by all workers, each after as many steps
            portion = min(portion, program.agree(longest))
        mean_loss, seconds = _run_portion(program, portion)
        step, longest = step + portion, max(1, int(PORTION_SECONDS * portion / seconds))
        pace.add(portion, seconds)
        progress.update(step, steps, loss=mean_loss)
        if step % log_every == 0 or step == steps:
            loss, speed = mean_loss, pace.examples_per_second()
            out.write_progress({"step": step, "loss": loss, "examples_per_second": speed}, steps, pace.with_start_up)
            if summaries is not None:
                summaries.write(step, _scalars(job, step, loss, speed))
            pace.restart()
        if evaluation is not None:
            evaluation.after(program, step, step == steps)
        if saver is not None and saver.after(program, step, step == steps):
            break
    progress.done()
    out.write_memory(environment.peak_bytes())
    return TrainingEnd(loss, step)


def _run_portion(program: Program, steps: int) -> tuple[float, float]:
    """Takes some steps; returns the last loss, averaged over the replicas, and the seconds that they took."""
    before = time.perf_counter()
    losses = program.run(steps)
    seconds = max(time.perf_counter() - before, 1e-6)
    return sum(map(float, losses)) / len(losses), seconds


def _scalars(job: Job, step: int, loss: float, examples_per_second: float) -> dict[str, float]:
    """Returns the scalars of a step for TensorBoard, by name."""
    return {"total_loss": loss, "examples_per_second": examples_per_second, **learning_rate_scalar(job, step - 1)}


class _Pace:
    """Examples per second since the last line of output.

    Args:
      global_batch: examples of one step.

    Attributes:
      with_start_up: whether the steps since then include the first one.
    """

    def __init__(self, global_batch: int) -> None:
        self._global_batch, self._steps, self._seconds = global_batch, 0, 0.0
        self.with_start_up = True

    def add(self, steps: int, seconds: float) -> None:
        self._steps, self._seconds = self._steps + steps, self._seconds + seconds

    def examples_per_second(self) -> float:
        return self._global_batch * self._steps / self._seconds

    def restart(self) -> None:
        self._steps, self._seconds, self.with_start_up = 0, 0.0, False


def next_stop(step: int, steps: int, *every: int | None) -> int:
    """Returns the first step after `step` at which the loop has something to do besides training.

    >>> next_stop(45, 95, 50, 30)
    50

    Args:
      step: the present step.
      steps: the last step.
      *every: periods, each of which makes its multiples such steps; None for none.

    Returns:
      a number from `step` + 1 to `steps`.
    """
    return min([steps] + [(step // count + 1) * count for count in every if count])


def learning_rate_scalar(job: Job, step: int) -> dict[str, float]:
    """Returns {"learning_rate": its value at `step`}; nothing for a lifted workload, whose graph alone knows it."""
    from workloads import schedules

    if job.workload.is_lifted:
        return {}
    return {"learning_rate": schedules.learning_rate_at(job.workload.learning_rate, step, job.global_batch)}


class Output:
    """Lines about the training, for people or as JSON objects.

    Args:
      side: first word of the lines, "legacy" or "modern".
      as_json: one JSON object a line.
      file: where the lines go; None for a worker that is to print nothing.
    """

    def __init__(self, side: str, as_json: bool = False, file: TextIO | None = sys.stdout) -> None:
        self._side, self._as_json, self._file = side, as_json, file

    def write_progress(self, seen: Mapping[str, float], steps: int, first: bool) -> None:
        """Writes a line about a portion of the training.

        Args:
          seen: {"step", "loss", "examples_per_second": number}.
          steps: the step that the training ends at.
          first: whether the portion includes the start-up.
        """
        text = "step {:6d} of {} | loss {:12.6g} | {:10.1f} examples/s{}".format(
            int(seen["step"]), steps, seen["loss"], seen["examples_per_second"], " (with start-up)" if first else ""
        )
        self._write(seen, f"{self._side} | {text}")

    def write_evaluation(self, step: int, means: Mapping[str, float], count: int) -> None:
        """Writes a line about an evaluation.

        Args:
          step: number of steps that were taken before.
          means: {metric: mean over the examples}.
          count: number of examples.
        """
        listed = "  ".join(f"{name} {value:.6g}" for name, value in means.items())
        text = f"{self._side} | step {step:6d} | evaluation of {counted(count, 'example')}: {listed}"
        self._write({"step": step, "evaluation": dict(means), "examples": count}, text)

    def write_memory(self, peak: int) -> None:
        """Writes a line about the peak memory, in bytes."""
        self._write({"peak_bytes": peak}, f"peak memory {peak / 2**20:.0f} MiB")

    def write_note(self, text: str) -> None:
        """Writes any other line, such as the step from which the training resumes."""
        self._write({"note": text}, text)

    def _write(self, fields: Mapping[str, object], text: str) -> None:
        if self._file is not None:
            self._file.write((json.dumps(fields) if self._as_json else text) + "\n")
            self._file.flush()
