"""The loop of `legacy.train` and `modern.train`: examples/s and loss as they go, peak memory at the end."""

from __future__ import annotations

import json
import sys
import time

from workloads import environment
from workloads.errors import require


def check_steps(steps, log_every):
    """Raises `InputError` unless both are positive."""
    require(steps >= 1, "--steps", steps, "must be at least 1")
    require(log_every >= 1, "--log_every", log_every, "must be at least 1")


def train(program, job, steps, log_every, as_json=False, out=sys.stdout):
    """Runs `steps` steps of `program`, writing a line to `out` every `log_every`.

    Args:
      as_json: one JSON object a line instead of text for people.

    Returns:
      the last loss, averaged over the replicas.
    """
    done, loss = 0, None
    while done < steps:
        portion = min(log_every, steps - done)
        start = time.perf_counter()
        losses = program.run(portion)
        seconds = time.perf_counter() - start
        done += portion
        loss = sum(map(float, losses)) / len(losses)
        line = {"step": done, "loss": loss, "examples_per_second": job.global_batch * portion / seconds}
        text = (
            json.dumps(line)
            if as_json
            else (
                "{} | step {:6d} of {} | loss {:12.6g} | {:10.1f} examples/s{}".format(
                    program.side,
                    done,
                    steps,
                    loss,
                    line["examples_per_second"],
                    " (with start-up)" if done == portion else "",
                )
            )
        )
        out.write(text + "\n")
        out.flush()
    peak = environment.peak_bytes()
    out.write((json.dumps({"peak_bytes": peak}) if as_json else "peak memory {:.0f} MiB".format(peak / 2**20)) + "\n")
    return loss
