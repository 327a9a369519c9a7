"""Recordings: the `StepRecord`s of a run in one `.npz`, written in one environment and compared in another.

The format, and what writes it, are in `writer`.
"""

from __future__ import annotations

import bisect
import io
import json
import os
import zipfile

import numpy as np

from workloads.program import STATES, Program, State, StepRecord
from workloads.records import writer
from workloads.records.writer import DIGEST, FORMAT, MANIFEST, digest_of
from workloads.scope import VariableSpec
from workloads.support import environment
from workloads.support.errors import InputError


class Writer(writer.Writer):
    """`writer.Writer` for this project's commands: a file that cannot be written is an `InputError`."""

    def __init__(self, path, about, variables):
        try:
            super().__init__(path, about, variables)
        except OSError as error:
            raise InputError(f"--out: cannot write {path}: {error.strerror}")


def record(program, job, steps, path, progress=None):
    """Writes `steps` steps of `program` to `path`; calls `progress(step, loss)` after each."""
    about = {"job": job.describe(), "settings": program.describe(), "environment": environment.describe()}
    with Writer(path, about, program.variables()) as made:
        made.initial(program.state())
        for _ in range(steps):
            seen = program.step()
            made.write(seen)
            if progress is not None:
                progress(seen.step, sum(map(float, seen.losses)) / len(seen.losses))


class Recording(Program):
    """A recording as a `Program`: its steps are read back, one at a time.

    Raises:
      InputError: the file is missing, not a recording, damaged or truncated (in the constructor, or at the step
        whose bytes are damaged).
    """

    side = "recording"

    def __init__(self, path, argument="--recording"):
        self.path = path
        self._argument = argument
        try:
            with open(path, "rb") as file:
                file.seek(0, os.SEEK_END)
                file.seek(max(0, file.tell() - DIGEST))
                digest = file.read()
            if digest_of(path).encode("ascii") != digest:
                raise self._damaged("its checksum does not match")
            self._zip = zipfile.ZipFile(path)
        except OSError as error:
            raise InputError(f"{argument}: cannot read {path}: {error.strerror}")
        except zipfile.BadZipFile as error:
            raise self._damaged(error)
        self._members = sorted(self._zip.namelist())
        self._names = frozenset(self._members)
        self.manifest = json.loads(str(self._get(MANIFEST)))
        if self.manifest["format"] != FORMAT:
            raise self._damaged("format {!r}, this reader knows {}".format(self.manifest["format"], FORMAT))
        self._step = 0

    @property
    def steps(self):
        """How many steps it holds."""
        return self.manifest["steps"]

    def variables(self):
        return tuple(
            VariableSpec(n, tuple(shape), dtype, trainable, None)
            for n, shape, dtype, trainable in self.manifest["variables"]
        )

    def describe(self):
        return dict(self.manifest.get("settings", {}))

    def state(self):
        """The state before the next step."""
        return self._state("initial" if self._step == 0 else f"{self._step - 1:05d}", self._step)

    def step(self):
        if self._step >= self.steps:
            raise InputError(f"--steps: {self.path} holds {self.steps} steps")
        prefix = f"{self._step:05d}"
        record = StepRecord(
            step=self._step,
            digests=[str(digest) for digest in self._optional(prefix + "/digests", [])],
            losses=list(self._get(prefix + "/losses")),
            gradients=self._replicas(prefix + "/gradients"),
            combined=self._group(prefix + "/combined/"),
            learning_rate=self._optional(prefix + "/learning_rate", None),
            state=self._state(prefix, self._step + 1),
            drift=[str(name) for name in self._optional(prefix + "/drift", [])],
            examples=list(self._group(prefix + "/examples/").values()),
            masks=self._replicas(prefix + "/masks"),
            proposals=self._replicas(prefix + "/proposals"),
        )
        self._step += 1
        return record

    def close(self):
        self._zip.close()

    def _state(self, prefix, step):
        return State(step, *[self._group(f"{prefix}/{stage}/") for stage in STATES])

    def _group(self, prefix):
        group = {}
        for member in self._members[bisect.bisect_left(self._members, prefix) :]:
            if not member.startswith(prefix):
                break
            group[member[len(prefix) : -len(".npy")]] = self._get(member[: -len(".npy")])
        return group

    def _replicas(self, prefix):
        """[{name: array}] of `prefix/<replica>/<name>`; empty if there are none."""
        groups = []
        while True:
            group = self._group(f"{prefix}/{len(groups)}/")
            if not group:
                return groups
            groups.append(group)

    def _optional(self, name, otherwise):
        return self._get(name) if name + ".npy" in self._names else otherwise

    def _get(self, name):
        try:
            content = self._zip.read(name + ".npy")
        except KeyError:
            raise self._damaged(f"{name} is missing")
        return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)

    def _damaged(self, what):
        return InputError(f"{self._argument}: {self.path} is damaged, or not a recording: {what}")
