"""Recordings: the `StepRecord`s of a run in one `.npz`, written in one environment and compared in another.

The file is an ordinary numpy archive. Its members are `<step>/<stage>/...` arrays and, last, `manifest`: JSON
with the job, the environment and the variables. The archive's comment, the last bytes of the file, is the
SHA-256 of all bytes before it, so that damage anywhere is found.

    00000/digests                        text [replicas]
    00000/losses                         [replicas]
    00000/gradients/<replica>/<weight>   also combined, weights, slots, statistics, averages
    00000/learning_rate

and, where they are known, `drift`, and each replica's `examples`, `masks` and `proposals`; see `StepRecord`.
"""

from __future__ import annotations

import bisect
import hashlib
import io
import json
import os
import zipfile

import numpy as np

from workloads.errors import InputError
from workloads.program import STATES, Program, State, StepRecord
from workloads.scope import VariableSpec

FORMAT = 1
MANIFEST = "manifest"
DIGEST = 64  # hex digits of a SHA-256


class Writer:
    """Streams records to `path`; the file appears under that name only once `close` has completed it.

    Args:
      path: where the recording goes.
      about: {"job": {...}, "settings": {...}, "environment": {...}}, texts that the reader compares or prints.
      variables: the program's `VariableSpec`s.
    """

    def __init__(self, path, about, variables):
        self._path = path
        self._part = "{}.part{}".format(path, os.getpid())
        self._manifest = {
            "format": FORMAT,
            "variables": [[s.name, list(s.shape), str(s.dtype), bool(s.trainable)] for s in variables],
            "steps": 0,
        }
        self._manifest.update(about)
        try:
            self._zip = zipfile.ZipFile(self._part, "w", zipfile.ZIP_STORED, allowZip64=True)
        except OSError as error:
            raise InputError("--out: cannot write {}: {}".format(path, error.strerror))

    def initial(self, state):
        """Writes the state before the first step."""
        self._state("initial", state)

    def write(self, record):
        """Writes one step."""
        step = "{:05d}".format(record.step)
        if record.digests:
            self._put(step + "/digests", np.array(record.digests))
        self._put(step + "/losses", np.stack(record.losses))
        for replica, gradients in enumerate(record.gradients):
            for name, value in gradients.items():
                self._put("{}/gradients/{}/{}".format(step, replica, name), value)
        for name, value in record.combined.items():
            self._put("{}/combined/{}".format(step, name), value)
        if record.learning_rate is not None:
            self._put(step + "/learning_rate", record.learning_rate)
        if record.drift:
            self._put(step + "/drift", np.array(record.drift))
        for replica, ids in enumerate(record.examples):
            self._put("{}/examples/{}".format(step, replica), ids)
        for kind in ("masks", "proposals"):
            for replica, arrays in enumerate(getattr(record, kind)):
                for name, value in arrays.items():
                    self._put("{}/{}/{}/{}".format(step, kind, replica, name), value)
        self._state(step, record.state)
        self._manifest["steps"] += 1

    def _state(self, step, state):
        for stage in STATES:
            for name, value in getattr(state, stage).items():
                self._put("{}/{}/{}".format(step, stage, name), value)

    def _put(self, name, array):
        content = io.BytesIO()
        np.lib.format.write_array(content, np.asanyarray(array), allow_pickle=False)
        self._zip.writestr(name + ".npy", content.getvalue())

    def close(self):
        """Completes the recording and gives it its name."""
        self._put(MANIFEST, np.array(json.dumps(self._manifest, sort_keys=True)))
        self._zip.comment = b"0" * DIGEST
        self._zip.close()
        digest = _digest(self._part).encode("ascii")
        with open(self._part, "r+b") as file:
            file.seek(-DIGEST, os.SEEK_END)
            file.write(digest)
        os.replace(self._part, self._path)

    def __enter__(self):
        return self

    def __exit__(self, kind, *unused):
        if kind is None:
            self.close()
        else:  # nothing half written stays behind
            self._zip.close()
            os.remove(self._part)


class Recording(Program):
    """A recording as a `Program`: its steps are read back, one at a time.

    Raises:
      InputError: the file is missing, not a recording, damaged or truncated (in the constructor, or at the step
        whose bytes are damaged).
    """

    side = "recording"

    def __init__(self, path):
        self._path = path
        try:
            with open(path, "rb") as file:
                file.seek(0, os.SEEK_END)
                file.seek(max(0, file.tell() - DIGEST))
                digest = file.read()
            if _digest(path).encode("ascii") != digest:
                raise self._damaged("its checksum does not match")
            self._zip = zipfile.ZipFile(path)
        except OSError as error:
            raise InputError("--recording: cannot read {}: {}".format(path, error.strerror))
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
        return self._state("initial" if self._step == 0 else "{:05d}".format(self._step - 1), self._step)

    def step(self):
        if self._step >= self.steps:
            raise InputError("--steps: {} holds {} steps".format(self._path, self.steps))
        prefix = "{:05d}".format(self._step)
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
        return State(step, *[self._group("{}/{}/".format(prefix, stage)) for stage in STATES])

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
            group = self._group("{}/{}/".format(prefix, len(groups)))
            if not group:
                return groups
            groups.append(group)

    def _optional(self, name, otherwise):
        return self._get(name) if name + ".npy" in self._names else otherwise

    def _get(self, name):
        try:
            content = self._zip.read(name + ".npy")
        except KeyError:
            raise self._damaged("{} is missing".format(name))
        return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)

    def _damaged(self, what):
        return InputError("--recording: {} is damaged, or not a recording: {}".format(self._path, what))


def _digest(path):
    """SHA-256, in hex, of all of a file but its last `DIGEST` bytes."""
    sha = hashlib.sha256()
    with open(path, "rb") as file:
        left = os.fstat(file.fileno()).st_size - DIGEST
        while left > 0:
            block = file.read(min(left, 1 << 20))
            sha.update(block)
            left -= len(block)
    return sha.hexdigest()
