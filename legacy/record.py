"""`python -m legacy.record --workload=regression --replicas=2 --steps=20 --out=run.npz`: write a run's records.

Runs the towers in *this* interpreter's TensorFlow (1.15 on Python 3.7 works) and writes every step's batch
digests, losses, gradients, learning rate, weights, slots and statistics, for `parity.verify --recording`.
"""

from __future__ import annotations

import sys
import time

from absl import flags

from legacy import flags as legacy_flags
from workloads import environment
from workloads import flags as job_flags
from workloads.errors import require, run_main

flags.DEFINE_integer("steps", 20, "Steps to record.")
flags.DEFINE_string("out", None, "The recording to write (.npz).")

FLAGS = flags.FLAGS


def main(argv):
    require(len(argv) == 1, "argument", argv[1:], "flags only; see --help")
    require(FLAGS.out, "--out", FLAGS.out, "name the file to write")
    require(FLAGS.steps >= 1, "--steps", FLAGS.steps, "must be at least 1")
    environment.prepare(exact=True)
    from legacy import programs
    from workloads.recording import record

    job, make_source = job_flags.job_from_flags()
    options = legacy_flags.options_from_flags(exact=True, resident=FLAGS.resident)
    start = time.time()
    with programs.program(job, make_source(job), options, job_flags.devices_from_flags(job)) as program:

        def progress(step, loss):
            if sys.stderr.isatty():
                sys.stderr.write("\rrecording step {}/{}  loss {:.6g} ".format(step + 1, FLAGS.steps, loss))

        record(program, job, FLAGS.steps, FLAGS.out, progress)
    print(
        "{}{}: {} steps of {} on {} towers, {:.1f} s".format(
            "\n" if sys.stderr.isatty() else "",
            FLAGS.out,
            FLAGS.steps,
            job.workload.name,
            job.replicas,
            time.time() - start,
        )
    )


def console():
    """Entry point."""
    run_main(main)


if __name__ == "__main__":
    console()
