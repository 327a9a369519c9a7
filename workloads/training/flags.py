"""Training: how long, what is shown, and what is kept."""

from __future__ import annotations

import sys

from absl import flags

from workloads.selection import flags as job_flags  # noqa: F401  the job
from workloads.support import errors

flags.DEFINE_integer("steps", 200, "Steps to train; a run that goes on from a checkpoint counts those before.")
flags.DEFINE_integer("log_every", 50, "Steps between lines of output.")
flags.DEFINE_string("save", None, "For a lift: write it here with what was trained; training can go on from it.")
flags.DEFINE_boolean("json_lines", False, "Write JSON, one object a line.")
flags.DEFINE_string("checkpoint_dir", None, "Save here, and go on from the newest checkpoint that is found here.")
flags.DEFINE_integer("checkpoint_every", 100, "Steps from one checkpoint to the next; there is also one at the end.")
flags.DEFINE_integer("keep_checkpoints", 3, "How many of the newest checkpoints to keep.")
flags.DEFINE_string("summary_dir", None, "Write loss, learning rate and examples/s for TensorBoard here.")

FLAGS = flags.FLAGS

#: Exit status of a run that a signal ended, as a shell gives it for SIGTERM.
STOPPED = 128 + 15


def check_flags():
    """Raises `InputError` for what can be refused before TensorFlow is started."""
    from workloads.training import loop

    loop.check_steps(FLAGS.steps, FLAGS.log_every)
    errors.require(FLAGS.checkpoint_every >= 1, "--checkpoint_every", FLAGS.checkpoint_every, "must be at least 1")
    errors.require(FLAGS.keep_checkpoints >= 1, "--keep_checkpoints", FLAGS.keep_checkpoints, "must be at least 1")


def train_from_flags(program, job, chief=True):
    """Trains `program` as the flags say and returns the exit status.

    Args:
      program: the `Program` to train.
      job: its `Job`.
      chief: False for a worker that is not to print or write anything.

    Returns:
      0, or `STOPPED` if a signal ended the training.
    """
    from workloads.training import checkpoints, loop, saving, summaries

    lifted = hasattr(job.workload, "save")
    errors.require(lifted or not FLAGS.save, "--save", FLAGS.save, "only for a lifted workload")
    out = loop.Output(program.side, FLAGS.json_lines, sys.stdout if chief else None)
    kept, shown = None, summaries.Summaries(FLAGS.summary_dir if chief else None)
    if FLAGS.checkpoint_dir:
        found = checkpoints.Checkpoints(FLAGS.checkpoint_dir, job, FLAGS.keep_checkpoints, chief)
        kept = saving.Saving(found, FLAGS.checkpoint_every, out.tell)
        kept.listen()
        kept.resume(program, chief)
    _, reached = loop.train(program, job, FLAGS.steps, FLAGS.log_every, out, kept, shown)
    shown.close()
    if reached < FLAGS.steps:
        return STOPPED
    if FLAGS.save:
        job.workload.save(FLAGS.save, program.state())
    return 0
