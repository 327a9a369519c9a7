"""Reader of recordings: the `StepRecord`s of a run in one `.npz` file, as a `Program`.

`writer` describes the format.
"""

from __future__ import annotations

import bisect
import io
import json
import os
import zipfile
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from workloads.program import STATES, Program, State, StepRecord
from workloads.records import writer
from workloads.records.writer import DIGEST, FORMAT, MANIFEST, digest_of
from workloads.scope import VariableSpec
from workloads.support import environment
from workloads.support.errors import InputError

if TYPE_CHECKING:
    from workloads.job import Job
    from workloads.program import Arrays


class Writer(writer.Writer):
    """`writer.Writer` for this project's commands: a file that cannot be written is an `InputError`."""

    def __init__(self, path: str, about: Mapping[str, Mapping[str, str]], variables: Iterable[Any]) -> None:
        try:
            super().__init__(path, about, variables)
        except OSError as error:
            raise InputError(f"--out: cannot write {path}: {error.strerror}")


def record_program(
    program: Program, job: Job, steps: int, path: str, progress: Callable[[int, float], object] | None = None
) -> None:
    """Runs a program and writes its records to a file.

    Args:
      program: the `Program`, at the step to begin with.
      job: its `Job`, which the recording describes.
      steps: number of steps.
      path: the recording (.npz).
      progress: called with (step, loss averaged over the replicas) after each step.

    Raises:
      InputError: the file cannot be written.
    """
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

    >>> import tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "run.npz")
    >>> with writer.Recorder(path, replicas=1, weights={"w": [1.0]}) as recorder:
    ...     recorder.step(losses=0.5, weights={"w": [0.75]})
    >>> with Recording(path) as recording:
    ...     recording.steps, recording.step().state.weights["w"].tolist()
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
            raise self._damaged(str(error))
        self._members = sorted(self._zip.namelist())
        self._names = frozenset(self._members)
        self.manifest: dict[str, Any] = json.loads(str(self._get(MANIFEST)))
        if self.manifest["format"] != FORMAT:
            raise self._damaged("format {!r}, this reader knows {}".format(self.manifest["format"], FORMAT))
        self._step = 0

    @property
    def steps(self) -> int:
        """Number of steps that it holds."""
        return self.manifest["steps"]

    def variables(self) -> tuple[VariableSpec, ...]:
        return tuple(
            VariableSpec(n, tuple(shape), dtype, trainable, None)
            for n, shape, dtype, trainable in self.manifest["variables"]
        )

    def describe(self) -> dict[str, str]:
        return dict(self.manifest.get("settings", {}))

    def state(self) -> State:
        """Returns the state before the next step."""
        return self._state("initial" if self._step == 0 else f"{self._step - 1:05d}", self._step)

    def step(self) -> StepRecord:
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

    def close(self) -> None:
        self._zip.close()

    def _state(self, prefix: str, step: int) -> State:
        return State(step, *[self._group(f"{prefix}/{stage}/") for stage in STATES])

    def _group(self, prefix: str) -> Arrays:
        """{name: array} of the members `prefix<name>`."""
        group = {}
        for member in self._members[bisect.bisect_left(self._members, prefix) :]:
            if not member.startswith(prefix):
                break
            group[member[len(prefix) : -len(".npy")]] = self._get(member[: -len(".npy")])
        return group

    def _replicas(self, prefix: str) -> list[Arrays]:
        """[{name: array}] of `prefix/<replica>/<name>`; empty if there are none."""
        groups: list[Arrays] = []
        while True:
            group = self._group(f"{prefix}/{len(groups)}/")
            if not group:
                return groups
            groups.append(group)

    def _optional(self, name: str, otherwise: Any) -> Any:
        return self._get(name) if name + ".npy" in self._names else otherwise

    def _get(self, name: str) -> Any:
        try:
            content = self._zip.read(name + ".npy")
        except KeyError:
            raise self._damaged(f"{name} is missing")
        return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)

    def _damaged(self, what: str) -> InputError:
        return InputError(f"{self._argument}: {self.path} is damaged, or not a recording: {what}")
