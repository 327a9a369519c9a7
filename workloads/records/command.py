"""Recording: how many steps, and where to."""

from __future__ import annotations

import sys
import time

from absl import flags

from workloads.selection import flags as job_flags
from workloads.support import environment
from workloads.support.errors import require, run_main

flags.DEFINE_integer("steps", 20, "Steps to record.")
flags.DEFINE_string("out", None, "The recording to write (.npz).")

FLAGS = flags.FLAGS


def run(make_program):
    """Records as the flags say; `make_program(job, source, devices)` makes the `Program`, once flags are parsed."""

    def main(argv):
        require(len(argv) == 1, "argument", argv[1:], "flags only; see --help")
        require(FLAGS.out, "--out", FLAGS.out, "name the file to write")
        require(FLAGS.steps >= 1, "--steps", FLAGS.steps, "must be at least 1")
        environment.prepare(exact=True)
        from workloads.records.reader import record

        job, make_source = job_flags.job_from_flags()
        start = time.time()
        with make_program(job, make_source(job), job_flags.devices_from_flags(job)) as program:
            record(program, job, FLAGS.steps, FLAGS.out, _progress)
        print(
            "{}{}: {} steps of {} on {} replicas, {:.1f} s".format(
                "\n" if sys.stderr.isatty() else "",
                FLAGS.out,
                FLAGS.steps,
                job.workload.name,
                job.replicas,
                time.time() - start,
            )
        )

    run_main(main)


def _progress(step, loss):
    if sys.stderr.isatty():
        sys.stderr.write(f"\rrecording step {step + 1}/{FLAGS.steps}  loss {loss:.6g} ")
