"""The left side of a comparison as a recording: one that exists, or one that another Python makes now."""

from __future__ import annotations

import os
from collections.abc import Sequence

from parity.diagnosis.context import settings
from parity.diagnosis.context.renamed_recording import open_renamed
from parity.processes import interpreter
from workloads.job import Job
from workloads.records.reader import Recording
from workloads.support.errors import require
from workloads.training.first_values import first_values


def open_recording(path: str, job: Job, steps: int, names: str | None = None) -> Recording:
    """Opens a recording of a job.

    Args:
      path: the file (.npz).
      job: the job that must have been recorded.
      steps: number of steps that must have been recorded.
      names: file that gives its variables legacy's names, for a recording of another framework; or None.

    Returns:
      the recording, at its first step.

    Raises:
      InputError: the file is not usable, its job is another one, or it holds fewer steps.
    """
    recording = Recording(path) if names is None else _renamed(path, job, names)
    settings.require_same_job(recording.manifest["job"], job, only_known=names is not None)
    require(steps <= recording.steps, "--steps", steps, f"the recording holds {recording.steps}")
    return recording


def _renamed(path: str, job: Job, names: str) -> Recording:
    return open_renamed(path, "--recording", names, first_values(job).variables())


def record_in_interpreter(python: str, flags: Sequence[str], folder: str) -> str:
    """Records the towers in another interpreter, with its own TensorFlow, unless that was done before.

    Args:
      python: the interpreter.
      flags: command-line flags of `legacy.record`: the job, the towers and the steps.
      folder: an existing folder for the recording.

    Returns:
      the recording's path.

    Raises:
      InputError: the interpreter cannot be used, or the run failed.
    """
    path = os.path.join(folder, "legacy.npz")
    if not os.path.exists(path):
        interpreter.tensorflow_version(python)
        interpreter.record_legacy(python, flags, path)
    return path
