"""Checkpoints of a run in a folder: written while the training goes on, and read back only if they are whole.

A checkpoint is a folder `step-00000120` with one TensorFlow checkpoint in it, which `tf.train.load_checkpoint` reads:
`weights/<name>`, `slots/<name>`, `statistics/<name>`, `averages/<name>`, `step`, and `about`, the job as JSON. It is
written under another name and then renamed, so a folder of that name is never half written by this program;
TensorFlow's checksums tell what happened to it since. The position of the input needs no entry: batches are a function
of the step.
"""

from __future__ import annotations

import concurrent.futures
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from workloads.lifted import checkpoint
from workloads.program import STATES, State
from workloads.support.errors import InputError, require

if TYPE_CHECKING:
    from workloads.job import Job
    from workloads.program import Arrays

_NAME = re.compile(r"step-(\d{8,})")
_FILE = "state"


class Checkpoints:
    """The checkpoints of one job in one folder.

    Args:
      folder: made if it does not exist.
      job: the `Job`; checkpoints of another job are refused.
      keep: number of checkpoints kept, the newest.
      writes: False for a process that only reads, such as a worker that is not the chief.

    Raises:
      InputError: the folder cannot be made or written.
    """

    def __init__(self, folder: str, job: Job, keep: int = 3, writes: bool = True) -> None:
        require(keep >= 1, "--keep_checkpoints", keep, "must be at least 1")
        self._folder, self._about, self._keep, self._writes = folder, job.describe(), keep, writes
        self._writer = concurrent.futures.ThreadPoolExecutor(1)
        self._pending: concurrent.futures.Future[None] | None = None
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise InputError(f"--checkpoint_dir: cannot make {folder}: {error.strerror}")
        require(os.access(folder, os.W_OK), "--checkpoint_dir", folder, "must be a folder that can be written")
        if writes:
            for name in os.listdir(folder):
                if name.startswith(".step-"):  # what an interrupted writer left
                    shutil.rmtree(os.path.join(folder, name), ignore_errors=True)

    def newest(self, like: State, tell: Callable[[str], object]) -> State | None:
        """Returns the state of the newest usable checkpoint, or None if there is no checkpoint at all.

        Args:
          like: `State` whose names and shapes it must have.
          tell: called with a line for each checkpoint that is refused.

        Returns:
          the state, or None.

        Raises:
          InputError: there are checkpoints, and none can be used.
        """
        names = _names(self._folder)
        for name in reversed(names):
            try:
                return self._read(name, like)
            except InputError as error:
                tell(f"checkpoint {name} is refused: {error}")
        require(not names, "--checkpoint_dir", self._folder, "none of its checkpoints can be used; name another folder")
        return None

    def at(self, step: int, like: State) -> State:
        """Returns the state of the checkpoint at `step`, which must have the names and shapes of `like`.

        Raises:
          InputError: there is none, or it cannot be used.
        """
        return self._read(_name(step), like)

    def save(self, state: State) -> None:
        """Begins to write `state`, which must not be changed; waits while the one before is still being written."""
        self.wait()
        if self._writes:
            self._pending = self._writer.submit(self._write, state)

    def wait(self) -> None:
        """Waits until the checkpoints are on the disk.

        Raises:
          InputError: it could not be written.
        """
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()

    def _write(self, state: State) -> None:
        values = {f"{kind}/{name}": value for kind in STATES for name, value in getattr(state, kind).items()}
        values["step"] = np.asarray(state.step, np.int64)
        values["about"] = np.asarray(json.dumps(self._about, sort_keys=True), object)
        name = _name(state.step)
        part = os.path.join(self._folder, f".{name}-{os.getpid()}")
        try:
            os.makedirs(part)
            checkpoint.write_by_name(os.path.join(part, _FILE), values)
            for file in [*os.listdir(part), "."]:
                _sync(os.path.join(part, file))
            self._remove(name)  # a refused one of the same step
            os.rename(part, os.path.join(self._folder, name))
            _sync(self._folder)
        except OSError as error:
            raise InputError(
                f"--checkpoint_dir: cannot write {name}: {error.strerror}; the older ones are as they were"
            )
        finally:
            shutil.rmtree(part, ignore_errors=True)
        for old in _names(self._folder)[: -self._keep]:
            self._remove(old)

    def _remove(self, name: str) -> None:
        """Removes a checkpoint if it is there; it is renamed first, so that no half of it is ever found by its name."""
        path, gone = os.path.join(self._folder, name), os.path.join(self._folder, f".{name}-gone")
        if os.path.isdir(path):
            shutil.rmtree(gone, ignore_errors=True)
            os.rename(path, gone)
            shutil.rmtree(gone)

    def _read(self, name: str, like: State) -> State:
        values = read_checkpoint(self._folder, name)
        try:
            about, step = json.loads(np.asarray(values["about"]).item()), int(values["step"])
        except (KeyError, ValueError, AttributeError):
            raise InputError("this program did not write it")
        self._require_same_job(about)
        kinds = [_below(values, kind + "/") for kind in STATES]
        for kind, found in zip(STATES, kinds):
            wanted = {name: np.shape(value) for name, value in getattr(like, kind).items()}
            if {name: np.shape(value) for name, value in found.items()} != wanted:
                raise InputError(f"its {kind} are not those of this job")
        if step != _step(name):
            raise InputError(f"it is of step {step}")
        return State(step, *kinds)

    def _require_same_job(self, about: Mapping[str, Any]) -> None:
        """Raises `InputError` for the state of another job: where names and shapes agree it would load, wrongly."""
        other = sorted(key for key in set(about) | set(self._about) if about.get(key) != self._about.get(key))
        if other:
            differing = [f"{key} {about.get(key)} and not {self._about.get(key)}" for key in other[:3]]
            raise InputError("made by another job: " + "; ".join(differing))


def newest_checkpoint(folder: str) -> str:
    """Returns the name of the newest checkpoint in `folder`, such as "step-00000120".

    Raises:
      InputError: there is none.
    """
    names = _names(folder)
    require(names, "--checkpoint_dir", folder, "holds no checkpoint")
    return names[-1]


def read_checkpoint(folder: str, name: str) -> Arrays:
    """Returns {"weights/<name>", "slots/<name>", ..., "step", "about": array} of a checkpoint of any job.

    Raises:
      InputError: it cannot be read.
    """
    return checkpoint.read_checkpoint(os.path.join(folder, name, _FILE))


def _names(folder: str) -> list[str]:
    """The names of all checkpoints in `folder`, the newest last."""
    return sorted((name for name in os.listdir(folder) if _NAME.fullmatch(name)), key=_step)


def _name(step: int) -> str:
    return f"step-{step:08d}"


def _step(name: str) -> int:
    return int(name.partition("-")[2])


def _below(values: Mapping[str, np.ndarray], prefix: str) -> Arrays:
    """The entries of `values` whose names begin with `prefix`, without it."""
    return {name[len(prefix) :]: value for name, value in values.items() if name.startswith(prefix)}


def _sync(path: str) -> None:
    """Writes a file, or a folder's list of names, through to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
