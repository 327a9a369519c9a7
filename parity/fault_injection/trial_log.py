"""`TrialLog`: a file of finished trials, so that a campaign of hours goes on where it was interrupted."""

from __future__ import annotations

import json
import os
from typing import NamedTuple, cast

from parity.fault_injection.trial_row import TimedTrialRow
from workloads.support.errors import InputError


class TrialKey(NamedTuple):
    """The injected faults, joined with a plus, the workload that was adapted, and the number of replicas."""

    injected: str
    workload: str
    replicas: int


def key_of(row: TimedTrialRow) -> TrialKey:
    """Returns the key of a finished trial."""
    return TrialKey(row["injected"], row["workload"], row["replicas"])


class TrialLog:
    """Finished trials in a file of JSON lines, one for each trial as it ends.

    Args:
      path: the file; made if it does not exist.

    Raises:
      InputError: a line of the file is no trial, or the file cannot be read.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._rows = _read_rows(path) if os.path.exists(path) else []

    @property
    def rows(self) -> list[TimedTrialRow]:
        """The finished trials, in the order in which they ended."""
        return list(self._rows)

    def add(self, row: TimedTrialRow) -> None:
        """Appends a trial that has ended."""
        self._rows.append(row)
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def _read_rows(path: str) -> list[TimedTrialRow]:
    """Reads the trials; the end of a line whose writing was interrupted is cut off."""
    try:
        with open(path, "r+", encoding="utf-8") as file:
            text = file.read()
            whole = text[: text.rfind("\n") + 1]
            if whole and whole != text:
                file.truncate(len(whole.encode("utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--trials: got {path!r}, which cannot be read: {error}")
    if text and not whole:
        raise InputError(f"--trials: got {path!r}, which holds no trials of parity.faults")
    return [_row(path, number, line) for number, line in enumerate(whole.splitlines(), 1)]


def _row(path: str, number: int, line: str) -> TimedTrialRow:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict) or not set(TimedTrialRow.__annotations__) <= set(row):
        raise InputError(f"--trials: line {number} of {path!r} is not a trial of parity.faults")
    return cast("TimedTrialRow", row)
