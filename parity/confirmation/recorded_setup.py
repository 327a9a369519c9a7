"""Setup of a recording's job: a built-in workload with the recorded fields, if the recording is of one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from legacy.options import LegacyOptions
from modern.options import ModernOptions
from parity.comparison.setup import Setup
from parity.diagnosis.context.recorded_settings import parse_setting
from workloads.job import Job
from workloads.selection import registry
from workloads.sources import Synthetic
from workloads.support.errors import InputError
from workloads.workload import Workload

if TYPE_CHECKING:
    from workloads.records.reader import Recording


def setup_of_recordings(left: Recording, right: Recording) -> Setup | None:
    """Returns the setup of the left recording's job, with the right's update rules; None if it cannot be run here."""
    job = job_of_settings(left.manifest.get("job", {}))
    if job is None:
        return None
    keras = "keras" in str(right.describe().get("update rules", ""))
    options = ModernOptions(update_rules="keras" if keras else "tf1", exact=True)
    return Setup(job, Synthetic, LegacyOptions(), options, "cpu")


def job_of_settings(settings: Mapping[str, str]) -> Job | None:
    """Returns the job that a recording describes, on synthetic batches.

    Args:
      settings: {field: text}, as `Job.describe` gives them.

    Returns:
      the job, whose description is the recording's word for word; None if no built-in workload gives it.
    """
    name = parse_setting(settings.get("workload.name", "None"), str)
    if name not in registry.NAMES or settings.get("data") != "synthetic" or "staleness" in settings:
        return None
    try:
        job = Job(
            _with_recorded_fields(registry.get(name), settings),
            replicas=parse_setting(settings.get("replicas", ""), int) or 0,
            global_batch=parse_setting(settings.get("global_batch", ""), int) or 0,
            dtype=settings.get("dtype", ""),
            seed=parse_setting(settings.get("seed", ""), int) or 0,
        )
    except InputError:
        return None
    return job if job.describe() == dict(settings) else None


def _with_recorded_fields(workload: Workload, settings: Mapping[str, str]) -> Workload:
    """The workload with every recorded field that is a number, a text, or one of this project's records."""
    changed: dict[str, Any] = {}
    for field in dataclasses.fields(workload):
        text = settings.get("workload." + field.name)
        if text is not None and text != repr(getattr(workload, field.name)):
            changed[field.name] = parse_setting(text, object)
    return dataclasses.replace(workload, **changed)
