"""The loop of `legacy.train` and `modern.train`: examples/s and loss as they go, peak memory at the end."""

from __future__ import annotations

import json
import sys
import time

from workloads.support import environment
from workloads.support.errors import require


def check_steps(steps, log_every):
    """Raises `InputError` unless both are positive."""
    require(steps >= 1, "--steps", steps, "must be at least 1")
    require(log_every >= 1, "--log_every", log_every, "must be at least 1")


def train(program, job, steps, log_every, out, saving=None, summaries=None):
    """Runs `program` from its present step to step `steps`, showing a line to `out` every `log_every`.

    Args:
      out: `Output`.
      saving: `saving.Saving`, or None to save nothing.
      summaries: `summaries.Summaries`, or None.

    Returns:
      (the last loss, averaged over the replicas; the step that was reached: less than `steps` if a signal came).
    """
    step, loss, first, done, seconds = program.state().step, None, True, 0, 0.0
    while step < steps:
        portion = next_stop(step, steps, log_every, saving.every if saving else None) - step
        before = time.perf_counter()
        losses = program.run(portion)
        seconds += time.perf_counter() - before
        step, done = step + portion, done + portion
        if step % log_every == 0 or step == steps:
            loss = sum(map(float, losses)) / len(losses)
            speed = job.global_batch * done / seconds
            out.progress({"step": step, "loss": loss, "examples_per_second": speed}, steps, first)
            if summaries is not None:
                summaries.write(step, {"total_loss": loss, "examples_per_second": speed, **rate_of(job, step - 1)})
            first, done, seconds = False, 0, 0.0
        if saving is not None and saving.after(program, step, step == steps):
            break
    out.memory(environment.peak_bytes())
    return loss, step


def next_stop(step, steps, *every):
    """The next step after `step` that is a multiple of one of `every` (None: of nothing), or `steps`."""
    return min([steps] + [(step // count + 1) * count for count in every if count])


def rate_of(job, step):
    """{"learning_rate": what `step` used}; nothing where only a lifted graph knows it."""
    from workloads import schedules
    from workloads.lifted.workload import LiftedWorkload

    if isinstance(job.workload, LiftedWorkload):
        return {}
    return {"learning_rate": schedules.at(job.workload.learning_rate, step, job.global_batch)}


class Output:
    """Lines about the training, for people or as JSON objects.

    Args:
      side: what the lines begin with.
      as_json: one JSON object a line.
      file: where to, or None to be silent (a worker that is not the chief).
    """

    def __init__(self, side, as_json=False, file=sys.stdout):
        self._side, self._as_json, self._file = side, as_json, file

    def progress(self, seen, steps, first):
        """A portion of the training: {"step", "loss", "examples_per_second"}."""
        text = "step {:6d} of {} | loss {:12.6g} | {:10.1f} examples/s{}".format(
            seen["step"], steps, seen["loss"], seen["examples_per_second"], " (with start-up)" if first else ""
        )
        self._write(seen, f"{self._side} | {text}")

    def memory(self, peak):
        """Peak memory in bytes."""
        self._write({"peak_bytes": peak}, f"peak memory {peak / 2**20:.0f} MiB")

    def tell(self, text):
        """Anything else, such as where the training goes on from."""
        self._write({"note": text}, text)

    def _write(self, fields, text):
        if self._file is not None:
            self._file.write((json.dumps(fields) if self._as_json else text) + "\n")
            self._file.flush()
