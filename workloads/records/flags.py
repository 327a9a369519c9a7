"""Recording: number of steps and the file."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from absl import flags

from workloads.selection import flags as job_flags
from workloads.selection import tap_flags
from workloads.support import environment, json_file
from workloads.support.errors import require

if TYPE_CHECKING:
    from workloads.job import Job
    from workloads.program import Program
    from workloads.sources import Source

flags.DEFINE_integer("steps", 20, "Steps to record.")
flags.DEFINE_string("out", None, "File to write the recording to (.npz).")
tap_flags.define_taps(flags.FLAGS)

FLAGS = flags.FLAGS


def record_from_flags(make_program: Callable[[Job, Source, list[str]], Program]) -> int:
    """Records as the flags say and returns the exit status; `make_program(job, source, devices)` makes the program."""
    require(FLAGS.out, "--out", FLAGS.out, "name the file to write")
    json_file.require_replaceable(FLAGS.out, "--out")
    require(FLAGS.steps >= 1, "--steps", FLAGS.steps, "must be at least 1")
    environment.prepare(exact=True)
    from workloads.records.reader import record_program

    job, make_source = job_flags.job_from_flags()
    start = time.time()
    with make_program(job, make_source(job), job_flags.devices_from_flags(job)) as program:
        record_program(program, job, FLAGS.steps, FLAGS.out, _progress)
    seconds, first = time.time() - start, "\n" if sys.stderr.isatty() else ""
    print(f"{first}{FLAGS.out}: {FLAGS.steps} steps of {job.workload.name} on {job.replicas} replicas, {seconds:.1f} s")
    return 0


def _progress(step: int, loss: float) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\rrecording step {step + 1}/{FLAGS.steps}  loss {loss:.6g} ")
