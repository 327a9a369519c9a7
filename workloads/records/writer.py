"""Writes a recording of any training loop. One file that needs numpy alone: copy it to where the loop runs.

    from writer import Recorder

    with Recorder("port.npz", replicas=2, weights=weights(), slots=slots()) as recorder:
        for batch in batches:
            losses, gradients = train_step(batch)
            recorder.step(losses=losses, gradients=gradients, rate=0.1, weights=weights(), slots=slots())

    python -m parity.diagnose --left=legacy.npz --right=port.npz

Every argument is {name: array} under *legacy's* names, or a list of those over replicas; whatever the loop cannot show
is left out. The file is an ordinary numpy archive. Its members are `<step>/<stage>/...` arrays and, last, `manifest`:
JSON with the job, the environment and the variables. The archive's comment, the last bytes of the file, is the SHA-256
of all bytes before it, so that damage anywhere is found.

    initial/weights/<weight>             also slots, statistics, averages: before the first step
    00000/losses                         [replicas], or [1]
    00000/gradients/<replica>/<weight>   before any clipping
    00000/combined/<weight>              what the optimizer got
    00000/learning_rate
    00000/weights/<weight>               also slots, statistics, averages: after the step
    00000/digests, examples/<replica>    hashes of each replica's batch, and of each of its examples
    00000/masks/<replica>/<dropout>      true where kept
    00000/proposals/<replica>/<statistic>
    00000/drift                          mirrored variables whose copies disagree

Slots are "weight/slot", in 1.x's words: momentum; m, v (and beta1_power, beta2_power); rms, momentum; accumulator.
"""

from __future__ import annotations

import collections
import hashlib
import io
import json
import os
import zipfile

import numpy as np

FORMAT = 1
MANIFEST = "manifest"
DIGEST = 64  # hex digits of a SHA-256

#: Parts of a state that are {name: array}.
STATES = ("weights", "slots", "statistics", "averages")

State = collections.namedtuple("State", STATES)
Record = collections.namedtuple(
    "Record", "step digests losses gradients combined learning_rate state drift examples masks proposals"
)
Variable = collections.namedtuple("Variable", "name shape dtype trainable")


class Recorder:
    """Records a training loop; a context manager. The file appears only once the loop has ended without an error.

    Args:
      path: the recording (.npz).
      replicas, global_batch: as the loop has them; 0 if not known.
      weights, slots, statistics, averages: {name: array} before the first step.
      about: {text: text}, such as {"keras": keras.__version__}.
    """

    def __init__(self, path, replicas, weights, slots=(), statistics=(), averages=(), global_batch=0, about=()):
        job = {"replicas": str(replicas), "global_batch": str(global_batch)}
        variables = [
            Variable(name, np.shape(value), np.asarray(value).dtype, trainable)
            for arrays, trainable in ((weights, True), (dict(statistics), False))
            for name, value in arrays.items()
        ]
        self._writer = Writer(path, {"job": job, "settings": dict(about), "environment": {}}, variables)
        self._writer.initial(_state(weights, slots, statistics, averages))
        self._steps = 0

    def step(
        self,
        losses,
        weights,
        slots=(),
        statistics=(),
        averages=(),
        gradients=(),
        combined=(),
        rate=None,
        batches=(),
        masks=(),
        proposals=(),
        drift=(),
    ):
        """One step.

        Args:
          losses: each replica's, or one number.
          weights, slots, statistics, averages: {name: array} after the step.
          gradients, masks, proposals, batches: over replicas, {name: array}; batches are hashed.
          combined: {weight: gradient} that the optimizer got.
          rate: learning rate of the step.
          drift: names of mirrored variables whose copies disagree.
        """
        record = Record(
            step=self._steps,
            digests=[batch_digest(_arrays(batch)) for batch in batches],
            losses=[np.asarray(loss) for loss in np.atleast_1d(np.asarray(losses))],
            gradients=[_arrays(gradient) for gradient in gradients],
            combined=_arrays(combined),
            learning_rate=None if rate is None else np.asarray(rate, np.float32),
            state=_state(weights, slots, statistics, averages),
            drift=list(drift),
            examples=[example_ids(_arrays(batch)) for batch in batches],
            masks=[_arrays(mask) for mask in masks],
            proposals=[_arrays(proposal) for proposal in proposals],
        )
        self._writer.write(record)
        self._steps += 1

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._writer.__exit__(*error)


def _arrays(values):
    return {name: np.asarray(value) for name, value in dict(values).items()}


def _state(*parts):
    return State(*[_arrays(part) for part in parts])


class Writer:
    """Streams records to `path`; the file appears under that name only once `close` has completed it.

    Args:
      path: where the recording goes; OSError if it cannot be written.
      about: {"job": {...}, "settings": {...}, "environment": {...}}, texts that the reader compares or prints.
      variables: records with `name`, `shape`, `dtype` and `trainable`, such as `VariableSpec`s.
    """

    def __init__(self, path, about, variables):
        self._path = path
        self._part = f"{path}.part{os.getpid()}"
        self._manifest = {
            "format": FORMAT,
            "variables": [[s.name, list(s.shape), str(s.dtype), bool(s.trainable)] for s in variables],
            "steps": 0,
        }
        self._manifest.update(about)
        self._zip = zipfile.ZipFile(self._part, "w", zipfile.ZIP_STORED, allowZip64=True)

    def initial(self, state):
        """Writes the state before the first step."""
        self._state("initial", state)

    def write(self, record):
        """Writes one step."""
        step = f"{record.step:05d}"
        if record.digests:
            self._put(step + "/digests", np.array(record.digests))
        self._put(step + "/losses", np.stack(record.losses))
        for replica, gradients in enumerate(record.gradients):
            for name, value in gradients.items():
                self._put(f"{step}/gradients/{replica}/{name}", value)
        for name, value in record.combined.items():
            self._put(f"{step}/combined/{name}", value)
        if record.learning_rate is not None:
            self._put(step + "/learning_rate", record.learning_rate)
        if record.drift:
            self._put(step + "/drift", np.array(record.drift))
        for replica, ids in enumerate(record.examples):
            self._put(f"{step}/examples/{replica}", ids)
        for kind in ("masks", "proposals"):
            for replica, arrays in enumerate(getattr(record, kind)):
                for name, value in arrays.items():
                    self._put(f"{step}/{kind}/{replica}/{name}", value)
        self._state(step, record.state)
        self._manifest["steps"] += 1

    def _state(self, step, state):
        for stage in STATES:
            for name, value in getattr(state, stage).items():
                self._put(f"{step}/{stage}/{name}", value)

    def _put(self, name, array):
        content = io.BytesIO()
        np.lib.format.write_array(content, np.asanyarray(array), allow_pickle=False)
        self._zip.writestr(name + ".npy", content.getvalue())

    def close(self):
        """Completes the recording and gives it its name."""
        self._put(MANIFEST, np.array(json.dumps(self._manifest, sort_keys=True)))
        self._zip.comment = b"0" * DIGEST
        self._zip.close()
        digest = digest_of(self._part).encode("ascii")
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


def batch_digest(batch):
    """Sixteen hex digits of a replica's batch {name: array}: names, dtypes, shapes and bytes."""
    sha = hashlib.sha256()
    for name in sorted(batch):
        array = np.ascontiguousarray(batch[name])
        sha.update(f"{name} {array.dtype.str} {array.shape} ".encode("utf-8"))
        sha.update(array.tobytes())
    return sha.hexdigest()[:16]


def example_ids(batch):
    """A uint64 for every example of a replica's batch {name: array [per-replica batch, *shape]}: its bytes, hashed."""
    arrays = [np.ascontiguousarray(batch[name]) for name in sorted(batch)]
    ids = []
    for row in zip(*arrays):
        sha = hashlib.blake2b(digest_size=8)
        for value in row:
            sha.update(np.ascontiguousarray(value).tobytes())
        ids.append(int.from_bytes(sha.digest(), "little"))
    return np.array(ids, np.uint64)


def digest_of(path):
    """SHA-256, in hex, of all of a file but its last `DIGEST` bytes."""
    sha = hashlib.sha256()
    with open(path, "rb") as file:
        left = os.fstat(file.fileno()).st_size - DIGEST
        while left > 0:
            block = file.read(min(left, 1 << 20))
            sha.update(block)
            left -= len(block)
    return sha.hexdigest()
