"""The last few states of a run, in a folder: written beside the training, and read back only if whole.

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

import numpy as np

from workloads.lifted import checkpoint
from workloads.program import STATES, State
from workloads.support.errors import InputError, require

_NAME = re.compile(r"step-(\d{8,})")
_FILE = "state"


class Checkpoints:
    """The checkpoints of one job in one folder.

    Args:
      folder: made if it does not exist.
      job: the `Job`; another one's checkpoints are refused.
      keep: how many of the newest to keep.
      writes: False for a process that only reads, such as a worker that is not the chief.

    Raises:
      InputError: the folder cannot be made or written.
    """

    def __init__(self, folder, job, keep=3, writes=True):
        require(keep >= 1, "--keep_checkpoints", keep, "must be at least 1")
        self._folder, self._about, self._keep, self._writes = folder, job.describe(), keep, writes
        self._writer, self._pending = concurrent.futures.ThreadPoolExecutor(1), None
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise InputError(f"--checkpoint_dir: cannot make {folder}: {error.strerror}")
        require(os.access(folder, os.W_OK), "--checkpoint_dir", folder, "must be a folder that can be written")
        if writes:
            for name in os.listdir(folder):
                if name.startswith(".step-"):  # what an interrupted writer left
                    shutil.rmtree(os.path.join(folder, name), ignore_errors=True)

    def newest(self, like, tell):
        """The newest usable `State`, or None if there is no checkpoint at all.

        Args:
          like: `State` whose names and shapes it must have.
          tell: called with a line for each checkpoint that is refused.

        Raises:
          InputError: there are checkpoints, and none can be used.
        """
        names = self._names()
        for name in reversed(names):
            try:
                return self._read(name, like)
            except InputError as error:
                tell(f"checkpoint {name} is refused: {error}")
        require(not names, "--checkpoint_dir", self._folder, "none of its checkpoints can be used; name another folder")
        return None

    def at(self, step, like):
        """The `State` of the checkpoint at `step`.

        Raises:
          InputError: there is none, or it cannot be used.
        """
        return self._read(_name(step), like)

    def save(self, state):
        """Begins to write `state`, which is not to be changed; waits only if the one before is still being written."""
        self.wait()
        if self._writes:
            self._pending = self._writer.submit(self._write, state)

    def wait(self):
        """Returns when what was saved is on the disk.

        Raises:
          InputError: it could not be written.
        """
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()

    def _names(self):
        """Of all checkpoints, the newest last."""
        return sorted((name for name in os.listdir(self._folder) if _NAME.fullmatch(name)), key=_step)

    def _write(self, state):
        values = {f"{kind}/{name}": value for kind in STATES for name, value in getattr(state, kind).items()}
        values["step"] = np.asarray(state.step, np.int64)
        values["about"] = np.asarray(json.dumps(self._about, sort_keys=True), object)
        name = _name(state.step)
        part = os.path.join(self._folder, f".{name}-{os.getpid()}")
        try:
            os.makedirs(part)
            checkpoint.write_by_name(os.path.join(part, _FILE), values)
            for file in os.listdir(part):
                _sync(os.path.join(part, file))
            self._remove(name)  # a refused one of the same step
            os.rename(part, os.path.join(self._folder, name))
            _sync(self._folder)
        except OSError as error:
            raise InputError(f"--checkpoint_dir: cannot write {name}: {error.strerror}")
        for old in self._names()[: -self._keep]:
            self._remove(old)

    def _remove(self, name):
        """Takes a checkpoint away, all of it at once: it loses its name before its files."""
        path, gone = os.path.join(self._folder, name), os.path.join(self._folder, f".{name}-gone")
        if os.path.isdir(path):
            shutil.rmtree(gone, ignore_errors=True)
            os.rename(path, gone)
            shutil.rmtree(gone)

    def _read(self, name, like):
        values = checkpoint.read(os.path.join(self._folder, name, _FILE))
        try:
            about, step = json.loads(np.asarray(values["about"]).item()), int(values["step"])
        except (KeyError, ValueError, AttributeError):
            raise InputError("this program did not write it")
        # State of another job would load where names and shapes agree, and train another model.
        other = sorted(key for key in set(about) | set(self._about) if about.get(key) != self._about.get(key))
        if other:
            told = [f"{key} {about.get(key)} and not {self._about.get(key)}" for key in other[:3]]
            raise InputError("made by another job: " + "; ".join(told))
        kinds = [_below(values, kind + "/") for kind in STATES]
        for kind, found in zip(STATES, kinds):
            wanted = {name: np.shape(value) for name, value in getattr(like, kind).items()}
            if {name: np.shape(value) for name, value in found.items()} != wanted:
                raise InputError(f"its {kind} are not those of this job")
        if step != _step(name):
            raise InputError(f"it is of step {step}")
        return State(step, *kinds)


def _name(step):
    return f"step-{step:08d}"


def _step(name):
    return int(_NAME.fullmatch(name).group(1))


def _below(values, prefix):
    return {name[len(prefix) :]: value for name, value in values.items() if name.startswith(prefix)}


def _sync(path):
    """Puts a file, or a folder's list of names, on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
