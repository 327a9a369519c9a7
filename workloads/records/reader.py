"""Reader of recordings: the `StepRecord`s of a run in one `.npz` file, as a `Program`.

`writer` describes the format.
"""

from __future__ import annotations

import bisect
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from workloads.program import STATES, Program, State, StepRecord
from workloads.records.manifest import parse_manifest, shape_problems
from workloads.records.writer import DIGEST, MANIFEST, digest_of
from workloads.support.errors import InputError
from workloads.support.files.array_archive import ArrayArchive
from workloads.support.files.input_files import require_regular
from workloads.support.wording import counted
from workloads.variable_spec import VariableSpec

if TYPE_CHECKING:
    from workloads.program import Arrays


class Recording(Program):
    """A recording as a `Program`: its steps are read back, one at a time.

    >>> import tempfile
    >>> from workloads.records import writer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "run.npz")
    ...     with writer.Recorder(path, replicas=1, weights={"w": [1.0]}) as recorder:
    ...         recorder.step(losses=0.5, weights={"w": [0.75]})
    ...     with Recording(path) as recording:
    ...         recording.steps, recording.step().state.weights["w"].tolist()
    (1, [0.75])

    Args:
      path: the recording (.npz).
      argument: the flag that named it, for messages.

    Raises:
      InputError: the file is missing, not a recording, damaged or truncated (in the constructor, or at the step
        whose bytes are damaged).
    """

    side = "recording"

    def __init__(self, path: str, argument: str = "--recording") -> None:
        self.path = path
        self._argument = argument
        require_regular(path, argument)
        try:
            with open(path, "rb") as file:
                file.seek(0, os.SEEK_END)
                file.seek(max(0, file.tell() - DIGEST))
                digest = file.read()
            if digest_of(path).encode("ascii") != digest:
                raise self._damaged("its checksum does not match")
        except OSError as error:
            raise InputError(f"{argument}: cannot read {path}: {error.strerror}")
        self._archive = ArrayArchive(path, self._subject)
        try:
            self._manifest = parse_manifest(str(self._archive.array(MANIFEST)))
        except ValueError as error:
            raise error if isinstance(error, InputError) else self._damaged(str(error))
        self.manifest: dict[str, Any] = dict(self._manifest.texts)
        self._specs = {spec.name: spec for spec in self._manifest.variables}
        self._first_names: dict[str, frozenset[str]] = {}
        self._step = 0

    @property
    def steps(self) -> int:
        """Number of steps that it holds."""
        return self._manifest.steps

    @property
    def holds_taps(self) -> bool:
        """Whether it holds values of tensors inside the model."""
        return "00000/tap_names" in self._archive

    def variables(self) -> tuple[VariableSpec, ...]:
        return self._manifest.variables

    def describe(self) -> dict[str, str]:
        return dict(self._manifest.texts["settings"])

    def state(self) -> State:
        """Returns the state before the next step."""
        return self._state("initial" if self._step == 0 else f"{self._step - 1:05d}", self._step)

    def step(self) -> StepRecord:
        if self._step >= self.steps:
            raise InputError(f"--steps: {self.path} holds {counted(self.steps, 'step')}")
        prefix = f"{self._step:05d}"
        record = StepRecord(
            step=self._step,
            digests=self._texts(prefix + "/digests"),
            losses=list(self._numbers(prefix + "/losses", 1)),
            gradients=[self._as_gradients(prefix, group) for group in self._replicas(prefix + "/gradients")],
            combined=self._as_gradients(prefix, self._group(prefix + "/combined/")),
            learning_rate=self._learning_rate(prefix + "/learning_rate"),
            state=self._state(prefix, self._step + 1),
            drift=self._texts(prefix + "/drift"),
            examples=self._by_replica(prefix + "/examples/"),
            masks=self._replicas(prefix + "/masks"),
            proposals=self._replicas(prefix + "/proposals"),
            taps=self._taps(prefix, "taps"),
            tap_gradients=self._taps(prefix, "tap_gradients"),
            tap_readers=self._tap_readers(prefix),
        )
        self._require_alike(prefix, record)
        self._step += 1
        return record

    def close(self) -> None:
        self._archive.close()

    def _state(self, prefix: str, step: int) -> State:
        groups = [self._group(f"{prefix}/{stage}/") for stage in STATES]
        for stage, group in zip(STATES, groups):
            if group or stage != "slots" or prefix != "initial":  # some optimizers make slots in the first step
                self._require_same_names(prefix, stage, group)
            problems = shape_problems(group, self._specs)
            if problems:
                raise self._damaged(f"{prefix}/{stage}: {problems[0]}")
        return State(step, *groups)

    def _require_alike(self, prefix: str, record: StepRecord) -> None:
        """Raises `InputError` unless replicas and steps hold the same names, and proposals have their shapes."""
        for kind in ("masks", "proposals"):
            for replica in getattr(record, kind) or [{}]:
                self._require_same_names(prefix, kind, replica)
        for kind in ("taps", "tap_gradients"):  # of train ops that run in turn, each has its own
            replicas = getattr(record, kind)
            if any(set(replica) != set(replicas[0]) for replica in replicas):
                raise self._damaged(f"{prefix}/{kind}: replicas hold other names")
        for replica in record.gradients[1:]:
            if set(replica) != set(record.gradients[0]):
                raise self._damaged(f"{prefix}/gradients: replicas hold other weights")
        for replica in record.proposals:
            for name, array in replica.items():
                if name in self._specs and array.shape != self._specs[name].shape:
                    raise self._damaged(f"{prefix}/proposals: {name!r} has the shape {list(array.shape)}")

    def _require_same_names(self, prefix: str, kind: str, arrays: Arrays) -> None:
        """Raises `InputError` unless a step holds the names of a kind that the first one that was read holds."""
        first = self._first_names.setdefault(kind, frozenset(arrays))
        other = sorted(first.symmetric_difference(arrays))
        if other:
            raise self._damaged(f"{prefix}/{kind}: {other[0]!r} is in some steps, or replicas, only")

    def _as_gradients(self, prefix: str, arrays: Arrays) -> Arrays:
        """Returns gradients, each of which has the shape of its variable, or is some of its rows."""
        for name, array in arrays.items():
            shape = self._specs[name].shape if name in self._specs else array.shape
            if array.ndim != len(shape) or array.shape[1:] != shape[1:]:
                raise self._damaged(f"{prefix}: gradient of {name!r} is {list(array.shape)}, not {list(shape)}")
        return arrays

    def _group(self, prefix: str) -> Arrays:
        """Returns {name: array} of the members `prefix<name>`; all are numbers."""
        group, names = {}, self._archive.names
        for member in names[bisect.bisect_left(names, prefix) :]:
            if not member.startswith(prefix):
                break
            group[member[len(prefix) :]] = self._numbers(member)
        return group

    def _replicas(self, prefix: str) -> list[Arrays]:
        """[{name: array}] of `prefix/<replica>/<name>`; empty if there are none."""
        groups: list[Arrays] = []
        while True:
            group = self._group(f"{prefix}/{len(groups)}/")
            if not group:
                return groups
            groups.append(group)

    def _taps(self, prefix: str, kind: str) -> list[Arrays]:
        """Returns each replica's {tap: array}, in the order of the forward pass."""
        order = self._texts(prefix + "/tap_names")
        groups = self._replicas(f"{prefix}/{kind}")
        if any(not set(group) <= set(order) for group in groups):
            raise self._damaged(f"{prefix}/{kind}: holds other names than tap_names")
        return [{name: group[name] for name in order if name in group} for group in groups]

    def _tap_readers(self, prefix: str) -> dict[str, list[str]]:
        """Returns {tap, or weight: the taps that are made from it}."""
        texts = self._texts(prefix + "/tap_readers")
        if len(texts) % 2:
            raise self._damaged(f"{prefix}/tap_readers holds {len(texts)} names, pairs are expected")
        found: dict[str, list[str]] = {}
        for name, reader in zip(texts[::2], texts[1::2]):
            found.setdefault(name, []).append(reader)
        return found

    def _by_replica(self, prefix: str) -> list[np.ndarray]:
        """Returns the arrays `prefix<replica>` in the order of the replicas."""
        group = self._group(prefix)
        numbers = [str(number) for number in range(len(group))]
        if set(group) != set(numbers):
            raise self._damaged(f"{prefix} has members other than the replicas' numbers")
        return [self._checked(prefix + number, group[number], 1) for number in numbers]

    def _numbers(self, name: str, rank: int | None = None) -> np.ndarray:
        """Returns an array of numbers, or truth values, of `rank` dimensions; None for any."""
        array = self._archive.array(name)
        if array.dtype.kind in "US":
            raise self._damaged(f"{name} holds texts, numbers are expected")
        return self._checked(name, array, rank)

    def _checked(self, name: str, array: np.ndarray, rank: int | None) -> np.ndarray:
        if rank is not None and array.ndim != rank:
            raise self._damaged(f"{name} has the shape {list(array.shape)}, expected {rank} dimension(s)")
        return array

    def _learning_rate(self, name: str) -> Any:
        """Returns the learning rate, or the rates, of a step; None if it was not recorded."""
        if name not in self._archive:
            return None
        rate = self._numbers(name)
        return self._checked(name, rate, 1) if rate.ndim else rate

    def _texts(self, name: str) -> list[str]:
        """Returns a list of texts; empty if it was not recorded."""
        if name not in self._archive:
            return []
        array = self._checked(name, self._archive.array(name), 1)
        if array.dtype.kind != "U" and array.size:
            raise self._damaged(f"{name} holds {array.dtype}, texts are expected")
        try:
            return [str(text) for text in array]
        except UnicodeDecodeError as error:
            raise self._damaged(f"{name}: {error}")

    @property
    def _subject(self) -> str:
        return f"{self._argument}: {self.path} is damaged, or not a recording"

    def _damaged(self, what: str) -> InputError:
        return InputError(f"{self._subject}: {what}")
