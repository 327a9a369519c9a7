"""Writer of recordings of any training loop: one file that needs numpy alone, to be copied to where the loop runs.

    from writer import Recorder

    with Recorder("port.npz", replicas=2, weights=weights(), slots=slots()) as recorder:
        for batch in batches:
            losses, gradients = train_step(batch)
            recorder.step(losses=losses, gradients=gradients, rate=0.1, weights=weights(), slots=slots())

    python -m parity.diagnose --left=legacy.npz --right=port.npz

Every argument is {name: array} under *legacy's* names, or a list of those over replicas; what the loop does not have
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
    00000/taps/<replica>/<name>          value of a tensor inside the model; tap_gradients: the loss's gradient to it
    00000/tap_names                      their names, in the order of the forward pass
    00000/tap_readers                    a tap or weight and a tap that is made from it, in turn; where that is known
    00000/drift                          mirrored variables whose copies disagree

Slots are "weight/slot", in 1.x's words: momentum; m, v (and beta1_power, beta2_power); rms, momentum; accumulator.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import zipfile
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import TracebackType

    import numpy.typing as npt

    #: Arguments of `Recorder`: {name: array}, or () for none.
    NamedArrays = Mapping[str, npt.ArrayLike] | Sequence[tuple[str, npt.ArrayLike]]

FORMAT = 1
MANIFEST = "manifest"
DIGEST = 64  # hex digits of a SHA-256

#: Parts of a state that are {name: array}.
STATES = ("weights", "slots", "statistics", "averages")


class State(NamedTuple):
    """State of a training loop: {name: array} of each kind."""

    weights: Dict[str, np.ndarray]
    slots: Dict[str, np.ndarray]
    statistics: Dict[str, np.ndarray]
    averages: Dict[str, np.ndarray]


class Record(NamedTuple):
    """One step as `Writer` takes it; see the members listed above. Lists are over replicas."""

    step: int
    digests: List[str]
    losses: List[np.ndarray]
    gradients: List[Dict[str, np.ndarray]]
    combined: Dict[str, np.ndarray]
    learning_rate: Optional[np.ndarray]
    state: State
    drift: List[str]
    examples: List[np.ndarray]
    masks: List[Dict[str, np.ndarray]]
    proposals: List[Dict[str, np.ndarray]]
    taps: List[Dict[str, np.ndarray]]
    tap_gradients: List[Dict[str, np.ndarray]]
    tap_readers: Dict[str, List[str]]


class Variable(NamedTuple):
    """A variable of the loop, as the manifest lists it."""

    name: str
    shape: Tuple[int, ...]
    dtype: np.dtype
    trainable: bool


class Recorder:
    """Context manager that records a training loop; the file appears only once the loop has ended without an error.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "port.npz")
    ...     with Recorder(path, replicas=2, weights={"w": [1.0, 2.0]}) as recorder:
    ...         recorder.step(losses=[0.5, 0.25], weights={"w": [0.75, 1.5]})
    ...     np.load(path)["00000/weights/w"].tolist()
    [0.75, 1.5]

    Args:
      path: the recording (.npz).
      replicas: number of replicas; 0 if it is not known.
      weights: {name: array} before the first step.
      slots: the same of the optimizer's slots.
      statistics: the same of batch norm's moving statistics.
      averages: the same of the weights' moving averages.
      global_batch: examples of one step; 0 if it is not known.
      about: {text: text}, such as {"keras": keras.__version__}.
    """

    def __init__(
        self,
        path: str,
        replicas: int,
        weights: Mapping[str, npt.ArrayLike],
        slots: NamedArrays = (),
        statistics: NamedArrays = (),
        averages: NamedArrays = (),
        global_batch: int = 0,
        about: Mapping[str, str] | Sequence[tuple[str, str]] = (),
    ) -> None:
        job = {"replicas": str(replicas), "global_batch": str(global_batch)}
        variables = [
            Variable(name, np.shape(value), np.asarray(value).dtype, trainable)
            for arrays, trainable in ((weights, True), (dict(statistics), False))
            for name, value in arrays.items()
        ]
        self._writer = Writer(path, {"job": job, "settings": dict(about), "environment": {}}, variables)
        try:
            self._writer.initial(_state(weights, slots, statistics, averages))
        except BaseException:
            self._writer.discard()
            raise
        self._steps = 0

    def step(
        self,
        losses: npt.ArrayLike,
        weights: NamedArrays,
        slots: NamedArrays = (),
        statistics: NamedArrays = (),
        averages: NamedArrays = (),
        gradients: Iterable[NamedArrays] = (),
        combined: NamedArrays = (),
        rate: float | None = None,
        batches: Sequence[NamedArrays] = (),
        masks: Iterable[NamedArrays] = (),
        proposals: Iterable[NamedArrays] = (),
        drift: Iterable[str] = (),
        taps: Iterable[NamedArrays] = (),
        tap_gradients: Iterable[NamedArrays] = (),
    ) -> None:
        """Records one step.

        Args:
          losses: each replica's, or one number.
          weights: {name: array} after the step.
          slots: the same of the optimizer's slots.
          statistics: the same of batch norm's moving statistics.
          averages: the same of the weights' moving averages.
          gradients: {weight: gradient} of each replica, before any clipping.
          combined: {weight: gradient} that the optimizer got.
          rate: learning rate of the step, in the precision in which the loop has it.
          batches: {input: array} of each replica; only hashes of it are written.
          masks: {dropout: array, true where kept} of each replica.
          proposals: {statistic: the value it proposes} of each replica.
          drift: names of mirrored variables whose copies disagree.
          taps: {name: value of a tensor inside the model} of each replica, in the order of the forward pass.
          tap_gradients: {name: gradient of the loss to that tensor} of each replica.
        """
        record = Record(
            step=self._steps,
            digests=[batch_digest(_arrays(batch)) for batch in batches],
            losses=[np.asarray(loss) for loss in np.atleast_1d(np.asarray(losses))],
            gradients=[_arrays(gradient) for gradient in gradients],
            combined=_arrays(combined),
            learning_rate=None if rate is None else np.asarray(rate),
            state=_state(weights, slots, statistics, averages),
            drift=list(drift),
            examples=[example_ids(_arrays(batch)) for batch in batches],
            masks=[_arrays(mask) for mask in masks],
            proposals=[_arrays(proposal) for proposal in proposals],
            taps=[_arrays(tap) for tap in taps],
            tap_gradients=[_arrays(tap) for tap in tap_gradients],
            tap_readers={},
        )
        self._writer.write(record)
        self._steps += 1

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._writer.__exit__(kind, error, traceback)


def _arrays(values: NamedArrays) -> dict[str, np.ndarray]:
    return {name: np.asarray(value) for name, value in dict(values).items()}


def _state(*parts: NamedArrays) -> State:
    return State(*[_arrays(part) for part in parts])


class Writer:
    """Streams records to `path`; the file appears under that name only once `close` has completed it.

    Args:
      path: where the recording goes; OSError if it cannot be written.
      about: {"job": {...}, "settings": {...}, "environment": {...}}, texts that the reader compares or prints.
      variables: `Variable`s, or other records with `name`, `shape`, `dtype` and `trainable`.
    """

    def __init__(self, path: str, about: Mapping[str, Mapping[str, str]], variables: Iterable[Any]) -> None:
        if os.path.lexists(path) and (os.path.islink(path) or not os.path.isfile(path)):
            raise OSError(errno.EINVAL, "is no regular file, and is not replaced", path)
        self._path = path
        self._part = f"{path}.part{os.getpid()}"
        self._manifest: dict[str, Any] = {
            "format": FORMAT,
            "variables": [[s.name, list(s.shape), str(s.dtype), bool(s.trainable)] for s in variables],
            "steps": 0,
        }
        self._manifest.update(about)
        self._zip = zipfile.ZipFile(self._part, "w", zipfile.ZIP_STORED, allowZip64=True)

    def initial(self, state: Any) -> None:
        """Writes the state before the first step: a `State`, or another record with the members `STATES`."""
        self._state("initial", state)

    def write(self, record: Any) -> None:
        """Writes one step: a `Record`, or another record with the same members."""
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
        if record.taps:
            self._put(step + "/tap_names", np.array(list(record.taps[0])))
        if record.tap_readers:
            pairs = [(tap, reader) for tap, readers in record.tap_readers.items() for reader in readers]
            self._put(step + "/tap_readers", np.array(pairs).ravel())
        for kind in ("masks", "proposals", "taps", "tap_gradients"):
            for replica, arrays in enumerate(getattr(record, kind)):
                for name, value in arrays.items():
                    self._put(f"{step}/{kind}/{replica}/{name}", value)
        self._state(step, record.state)
        self._manifest["steps"] += 1

    def _state(self, step: str, state: Any) -> None:
        for stage in STATES:
            for name, value in getattr(state, stage).items():
                self._put(f"{step}/{stage}/{name}", value)

    def _put(self, name: str, array: npt.ArrayLike) -> None:
        content = io.BytesIO()
        np.lib.format.write_array(content, np.asanyarray(array), allow_pickle=False)
        self._zip.writestr(name + ".npy", content.getvalue())

    def close(self) -> None:
        """Completes the recording and gives it its name; if that fails, nothing half written stays behind."""
        try:
            self._put(MANIFEST, np.array(json.dumps(self._manifest, sort_keys=True)))
            self._zip.comment = b"0" * DIGEST
            self._zip.close()
            digest = digest_of(self._part).encode("ascii")
            with open(self._part, "r+b") as file:
                file.seek(-DIGEST, os.SEEK_END)
                file.write(digest)
            os.replace(self._part, self._path)
        except BaseException:
            self.discard()
            raise

    def discard(self) -> None:
        """Removes the unfinished recording."""
        try:
            self._zip.close()
        except (OSError, ValueError):  # the disk is full; or it is closed, or a member was being written
            pass
        if os.path.exists(self._part):
            os.remove(self._part)

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()


def batch_digest(batch: Mapping[str, np.ndarray]) -> str:
    """Returns sixteen hex digits that hash a replica's batch {name: array}: names, shapes and values.

    The same values have one digest in float32 and float64, and one in all types of integers.
    """
    sha = hashlib.sha256()
    for name in sorted(batch):
        array = _in_usual_type(batch[name])
        sha.update(f"{name} {array.dtype.str} {array.shape} ".encode("utf-8"))
        sha.update(array.tobytes())
    return sha.hexdigest()[:16]


def example_ids(batch: Mapping[str, np.ndarray]) -> np.ndarray:
    """Returns a uint64 hash of every example of a replica's batch {name: array [per-replica batch, *shape]}."""
    arrays = [_in_usual_type(batch[name]) for name in sorted(batch)]
    ids = []
    for row in zip(*arrays):
        sha = hashlib.blake2b(digest_size=8)
        for value in row:
            sha.update(np.ascontiguousarray(value).tobytes())
        ids.append(int.from_bytes(sha.digest(), "little"))
    return np.array(ids, np.uint64)


def _in_usual_type(array: np.ndarray) -> np.ndarray:
    """Returns float32, or int32 for integers, where that holds the same values; else the array as it is.

    Texts, of which an array may hold pointers or padded bytes, are bytes of the length of the longest.

    >>> _in_usual_type(np.array([0.5, 3.0])).dtype.name, _in_usual_type(np.array([0.1])).dtype.name
    ('float32', 'float64')
    """
    array = np.ascontiguousarray(array)
    if array.dtype.kind in "OSU":
        texts = [text if isinstance(text, bytes) else str(text).encode("utf-8") for text in array.ravel().tolist()]
        return np.array(texts, bytes).reshape(array.shape)
    usual = {"f": np.float32, "i": np.int32, "u": np.int32}.get(array.dtype.kind)
    if usual is None or array.dtype == usual:
        return array
    with np.errstate(all="ignore"):
        converted = array.astype(usual)
        same = np.array_equal(converted.astype(array.dtype), array)
    return converted if same and (array.dtype.kind != "u" or not np.any(converted < 0)) else array


def digest_of(path: str) -> str:
    """Returns the SHA-256, in hex, of all of a file but its last `DIGEST` bytes."""
    sha = hashlib.sha256()
    with open(path, "rb") as file:
        left = os.fstat(file.fileno()).st_size - DIGEST
        while left > 0:
            block = file.read(min(left, 1 << 20))
            sha.update(block)
            left -= len(block)
    return sha.hexdigest()
