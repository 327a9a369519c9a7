"""Settings of two programs side by side: where their texts differ, before any number is compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from workloads.job import Job
from workloads.support.errors import InputError
from workloads.support.wording import listed

#: Differences that a message lists; the others are counted.
MOST_LISTED = 4


class SettingDifference(NamedTuple):
    """A setting whose texts differ; "-" where one side has none."""

    setting: str
    left: str
    right: str


def differences(left: Mapping[str, str], right: Mapping[str, str]) -> list[SettingDifference]:
    """Returns the settings {name: text} whose texts differ, in the left side's order."""
    names = list(left) + [name for name in right if name not in left]
    rows = [SettingDifference(name, left.get(name, "-"), right.get(name, "-")) for name in names]
    return [row for row in rows if row.left != row.right]


def require_same_job(recording: Mapping[str, str], job: Job, only_known: bool = False) -> None:
    """Raises `InputError` unless a recording's job is `job`.

    Args:
      recording: {field: text} of the recording's job; see `Job.describe`.
      job: the job that the recording is to be compared with.
      only_known: whether fields that the recording does not know, as another framework's, may be any.

    Raises:
      InputError: the jobs differ; the message names up to `MOST_LISTED` fields.
    """
    known = {name: text for name, text in recording.items() if text not in ("", "0")} if only_known else recording
    described = {name: text for name, text in job.describe().items() if name in known or not only_known}
    rows = sorted(differences(known, described), key=lambda row: row.setting != "workload.name")
    if rows:
        texts = [f"{row.setting} is {row.left} in the recording and {row.right} here" for row in rows]
        raise InputError("--recording: made by another job: " + listed(texts, MOST_LISTED, "; "))
