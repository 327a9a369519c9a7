"""Records a program of this project: runs it, and writes its step records to a file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from workloads.program import Program
from workloads.records import writer
from workloads.support.errors import InputError
from workloads.support.files import unfinished
from workloads.support.machine import environment

if TYPE_CHECKING:
    from workloads.job import Job


class RecordingWriter(writer.Writer):
    """`writer.Writer` for this project's commands: a file that cannot be written is an `InputError`."""

    def __init__(self, path: str, about: Mapping[str, Mapping[str, str]], variables: Iterable[Any]) -> None:
        with _write_errors(path):
            super().__init__(path, about, variables)

    def initial(self, state: Any) -> None:
        with _write_errors(self._path):
            super().initial(state)

    def write(self, record: Any) -> None:
        with _write_errors(self._path):
            super().write(record)

    def close(self) -> None:
        with _write_errors(self._path):
            super().close()


@contextlib.contextmanager
def _write_errors(path: str) -> Iterator[None]:
    """Context in which an `OSError` becomes an `InputError` about the recording `path`."""
    try:
        yield
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
    part = unfinished.removed_unless_complete(f"{path}.part{os.getpid()}")
    with part, RecordingWriter(path, about, program.variables()) as made:
        made.initial(program.state())
        for _ in range(steps):
            seen = program.step()
            made.write(seen)
            if progress is not None:
                progress(seen.step, sum(map(float, seen.losses)) / len(seen.losses))
