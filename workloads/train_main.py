"""Training: how long, and what is shown."""

from __future__ import annotations

from absl import flags

from workloads import environment, errors
from workloads import flags as job_flags

flags.DEFINE_integer("steps", 200, "Steps to train.")
flags.DEFINE_integer("log_every", 50, "Steps between lines of output.")
flags.DEFINE_string("save", None, "For a lift: write it here with what was trained; training can go on from it.")
flags.DEFINE_boolean("json_lines", False, "Write JSON, one object a line.")

FLAGS = flags.FLAGS


def run(make_program):
    """Trains as the flags say; `make_program(job, source, devices)` makes the `Program`, once flags are parsed."""

    def main(argv):
        errors.require(len(argv) == 1, "argument", argv[1:], "flags only; see --help")
        environment.prepare(exact=False)
        from workloads import training

        training.check_steps(FLAGS.steps, FLAGS.log_every)
        job, make_source = job_flags.job_from_flags()
        lifted = hasattr(job.workload, "save")
        errors.require(lifted or not FLAGS.save, "--save", FLAGS.save, "only for a lifted workload")
        with make_program(job, make_source(job), job_flags.devices_from_flags(job)) as program:
            training.train(program, job, FLAGS.steps, FLAGS.log_every, FLAGS.json_lines)
            if FLAGS.save:
                job.workload.save(FLAGS.save, program.state())

    errors.run_main(main)
