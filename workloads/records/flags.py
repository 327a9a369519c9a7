"""Recording: number of steps and the file."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from absl import flags

from workloads.progress.progress import Progress
from workloads.selection import flags as job_flags
from workloads.selection import tap_flags
from workloads.support.errors import require
from workloads.support.files import json_file
from workloads.support.machine import environment
from workloads.support.wording import counted

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
    from workloads.records.record_program import record_program

    job, make_source = job_flags.job_from_flags()
    start = time.time()
    with make_program(job, make_source(job), job_flags.devices_from_flags(job)) as program:
        progress = Progress(f"record {program.side} {job.workload.name}")
        progress.stage("first step")
        steps = FLAGS.steps
        record_program(program, job, steps, FLAGS.out, lambda step, loss: progress.update(step + 1, steps, loss=loss))
        progress.done()
    seconds = time.time() - start
    print(
        f"{FLAGS.out}: {counted(FLAGS.steps, 'step')} of {job.workload.name} on "
        f"{counted(job.replicas, 'replica')}, {seconds:.1f} s"
    )
    return 0
