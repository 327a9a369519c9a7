"""What two programs' settings and environments have in common and where they differ, before any number."""

from __future__ import annotations

from workloads.support.errors import InputError

MOST_LISTED = 4


def differences(left, right):
    """[(setting, left text, right text)] of the settings whose texts differ; "-" where one side has none."""
    names = list(left) + [name for name in right if name not in left]
    rows = [(name, left.get(name, "-"), right.get(name, "-")) for name in names]
    return [row for row in rows if row[1] != row[2]]


def require_same_job(recording, job):
    """Raises `InputError`, naming the differences, unless a recording's job is this one.

    Args:
      recording: {field: text} from the recording.
      job: the `Job` that it is to be compared with.
    """
    rows = differences(recording, job.describe())
    rows.sort(key=lambda row: row[0] != "workload.name")
    if rows:
        listed = "; ".join("{} is {} in the recording and {} here".format(*row) for row in rows[:MOST_LISTED])
        more = len(rows) - MOST_LISTED
        raise InputError("--recording: made by another job: " + listed + (f"; and {more} more" if more > 0 else ""))
