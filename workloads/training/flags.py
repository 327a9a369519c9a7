"""Training: length, output and checkpoints."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from absl import flags

from workloads.selection import flags as job_flags  # noqa: F401  the job
from workloads.selection.evaluation_flags import define_eval_data, examples_from_flags
from workloads.support import errors

if TYPE_CHECKING:
    from workloads.job import Job
    from workloads.program import Arrays, Program, State
    from workloads.sources import Source
    from workloads.training.best_checkpoint import BestCheckpoint
    from workloads.training.checkpoint_saver import CheckpointSaver
    from workloads.training.evaluation import Evaluation
    from workloads.training.loop import Output
    from workloads.training.periodic_evaluation import PeriodicEvaluation
    from workloads.training.summaries import Summaries

    #: Function of (program, job, state, first batch, folder) that writes into the folder and returns a sentence.
    FurtherExport = Callable[[Program, Job, State, Arrays, str], str]

flags.DEFINE_integer("steps", 200, "Steps to train, those before a checkpoint that is resumed included.")
flags.DEFINE_integer("epochs", None, "Instead of --steps: passes over the data, where their number is known.")
flags.DEFINE_integer("log_every", 50, "Steps between lines of output.")
flags.DEFINE_string(
    "save", None, "Folder to write a lifted workload to, with the trained state; only with such a workload."
)
define_eval_data(flags.FLAGS)
flags.DEFINE_integer("eval_every", None, "Steps between evaluations. Default: one, at the end.")
flags.DEFINE_string(
    "keep_best",
    None,
    "Metric of the evaluations: the state in which it is highest, or lowest for -METRIC, is kept in "
    "--checkpoint_dir/best.",
)
flags.DEFINE_string(
    "export",
    None,
    "Folder to make: the trained weights by name (weights.npz), and the workload's predictions as a SavedModel; with "
    "--keep_best those of the best state.",
)
flags.DEFINE_boolean("json_lines", False, "Print progress as JSON, one object a line.")
flags.DEFINE_string("checkpoint_dir", None, "Folder for checkpoints; a run resumes from the newest one in it.")
flags.DEFINE_integer("checkpoint_every", 100, "Steps between checkpoints; the last step is always saved.")
flags.DEFINE_integer("keep_checkpoints", 3, "Number of checkpoints to keep, the newest.")
flags.DEFINE_string("summary_dir", None, "Folder for TensorBoard's event files: loss, learning rate and examples/s.")

FLAGS = flags.FLAGS


def check_flags() -> None:
    """Raises `InputError` for values that can be refused before TensorFlow is imported."""
    from workloads.training import loop

    loop.check_steps(FLAGS.steps, FLAGS.log_every)
    epochs = FLAGS.epochs
    every = FLAGS.eval_every
    errors.require(every is None or FLAGS.eval_data, "--eval_every", every, "needs --eval_data")
    errors.require(every is None or every >= 1, "--eval_every", every, "must be at least 1")
    errors.require(epochs is None or epochs >= 1, "--epochs", epochs, "must be at least 1")
    errors.require(epochs is None or not FLAGS["steps"].present, "--epochs", epochs, "not with --steps")
    errors.require(FLAGS.checkpoint_every >= 1, "--checkpoint_every", FLAGS.checkpoint_every, "must be at least 1")
    errors.require(FLAGS.keep_checkpoints >= 1, "--keep_checkpoints", FLAGS.keep_checkpoints, "must be at least 1")


def steps_from_flags(source: Source) -> int:
    """Returns the number of steps to train, of `--steps` or `--epochs`.

    Raises:
      InputError: the number of examples in an epoch is not known.
    """
    if FLAGS.epochs is None:
        return FLAGS.steps
    steps = source.steps(FLAGS.epochs)
    errors.require(steps is not None, "--epochs", FLAGS.epochs, "these data have no known end; give --steps")
    assert steps is not None  # for the type checker
    return steps


def evaluation_from_flags(job: Job, devices: Sequence[str]) -> Evaluation | None:
    """Returns the evaluation that the flags describe; None without `--eval_data`.

    Args:
      job: the `Job`.
      devices: that evaluate.

    Raises:
      InputError: the workload has no metrics, or the data cannot be used.
    """
    from workloads.training.evaluation import Evaluation

    examples = examples_from_flags(job, FLAGS)
    return None if examples is None else Evaluation(job, examples, devices)


def train_from_flags(
    program: Program,
    job: Job,
    source: Source,
    chief: bool = True,
    workers: int = 1,
    further_export: FurtherExport | None = None,
) -> int:
    """Trains `program` as the flags say and returns the exit status.

    Args:
      program: the `Program` to train.
      job: its `Job`.
      source: of its batches.
      chief: False for a worker that is not to print or write anything.
      workers: number of workers that share the job.
      further_export: writes more into `--export`'s folder; see `FurtherExport`; or None.

    Returns:
      0; or 128 and the number of the signal that ended the training, as a shell gives it.

    Raises:
      InputError: a checkpoint, or the folder to save to, cannot be written; or another run uses the folder.
    """
    from workloads.lifted.workload import as_lifted
    from workloads.training import export, folder_lock, loop, summaries

    _check_what_is_kept(job, further_export is not None)
    if FLAGS.export and chief:
        export.check_export(FLAGS.export)
    steps = steps_from_flags(source)
    evaluation = evaluation_from_flags(job, job_flags.devices_from_flags(job, workers)) if chief else None
    out = loop.Output(program.side, FLAGS.json_lines, sys.stdout if chief else None)
    with contextlib.ExitStack() as stack:
        scalars = summaries.Summaries(FLAGS.summary_dir if chief else None)
        stack.callback(scalars.close)
        if FLAGS.checkpoint_dir and chief:
            stack.enter_context(folder_lock.locked_folder(FLAGS.checkpoint_dir))
        best = _best_from_flags(job) if chief else None
        periodic = _periodic_evaluation_from_flags(stack, evaluation, out, scalars, best)
        saver = _saver_from_flags(stack, program, job, out, chief)
        hooks = loop.Hooks(saver, scalars, periodic)
        _, reached = loop.train_program(program, job, steps, FLAGS.log_every, out, hooks)
        if FLAGS.export and reached == steps:
            state = program.state()  # which all workers read together
            if chief:
                best_state = state if best is None else best.state(state, out.write_note)
                out.write_note(_export(program, job, source, best_state, further_export))
    if saver is not None and reached < steps:
        return 128 + saver.stopped_by
    if FLAGS.save:
        as_lifted(job.workload).save(FLAGS.save, program.state())
    return 0


def _export(program: Program, job: Job, source: Source, state: State, further_export: FurtherExport | None) -> str:
    """Writes a state to `--export`'s folder; returns a sentence about what was written."""
    from workloads.training import export

    batch = {} if job.workload.is_lifted else source.batch(0)
    further = further_export and functools.partial(further_export, program, job, state, batch)
    exported = export.export_state(job, state, batch, FLAGS.export, further)
    return f"{FLAGS.export}: {exported.sentence()}"


def _check_what_is_kept(job: Job, exports_more: bool) -> None:
    """Raises `InputError` for flags of a run's results that do not fit the workload or each other."""
    is_lifted = job.workload.is_lifted
    errors.require(is_lifted or not FLAGS.save, "--save", FLAGS.save, "only for a lifted workload")
    kept_by_save = is_lifted and FLAGS.export and not exports_more
    errors.require(not kept_by_save, "--export", FLAGS.export, "a lift is kept by --save, or by --export_keras")
    complete = not FLAGS.keep_best or (FLAGS.eval_data and FLAGS.checkpoint_dir)
    errors.require(complete, "--keep_best", FLAGS.keep_best, "needs --eval_data and --checkpoint_dir")


def _best_from_flags(job: Job) -> BestCheckpoint | None:
    """Returns the best state so far, which is kept beside the checkpoints; None without `--keep_best`."""
    from workloads.training import checkpoints
    from workloads.training.best_checkpoint import BestCheckpoint

    if not FLAGS.keep_best:
        return None
    folder = os.path.join(FLAGS.checkpoint_dir, "best")
    return BestCheckpoint(FLAGS.keep_best, folder, checkpoints.Checkpoints(folder, job, keep=1))


def _periodic_evaluation_from_flags(
    stack: contextlib.ExitStack,
    evaluation: Evaluation | None,
    out: Output,
    scalars: Summaries,
    best: BestCheckpoint | None,
) -> PeriodicEvaluation | None:
    """Returns the evaluations while training, which end with `stack`; None without `--eval_data`."""
    from workloads.training.periodic_evaluation import PeriodicEvaluation

    if not FLAGS.eval_data:
        return None
    periodic = PeriodicEvaluation(evaluation, FLAGS.eval_every, out, scalars, best)
    stack.callback(periodic.close)
    return periodic


def _saver_from_flags(
    stack: contextlib.ExitStack, program: Program, job: Job, out: Output, chief: bool
) -> CheckpointSaver | None:
    """Resumes from the newest checkpoint; returns the saver of others until `stack` ends. None without a folder."""
    from workloads.training import checkpoints
    from workloads.training.checkpoint_saver import CheckpointSaver

    if not FLAGS.checkpoint_dir:
        return None
    found = checkpoints.Checkpoints(FLAGS.checkpoint_dir, job, FLAGS.keep_checkpoints, chief)
    saver = CheckpointSaver(found, FLAGS.checkpoint_every, out.write_note)
    stack.callback(saver.close)
    saver.listen()
    saver.resume(program, chief)
    return saver
