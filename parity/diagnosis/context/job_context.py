"""The job's named choices, beside its step records: from the `Job` itself, or from the settings in a recording."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from parity.diagnosis.context.own_penalties import own_penalties
from parity.diagnosis.context.recorded_settings import parse_setting
from workloads import optimizers
from workloads.job import Job
from workloads.tracing import trace_decayed
from workloads.workload import Clip, MovingAverage

#: {side, "left" or "right": {setting: text}}.
About = Mapping[str, Mapping[str, str]]


@dataclasses.dataclass(frozen=True)
class Context:
    """The named choices that the left side stands for; None, or 0 for a number, where they are not known.

    Attributes:
      replicas: number of replicas.
      global_batch: examples of all replicas together in one step.
      optimizer, clip, combine, statistics, weight_decay, moving_average: as in `Workload`.
      decayed: names of the weights that the model hands to `Scope.decay`.
      penalized: names of the weights in any penalty, those included that the loss adds by itself at a rate of its own.
      about: {side: {setting: text}}, each side's description of itself.
    """

    replicas: int = 0
    global_batch: int = 0
    optimizer: optimizers.Optimizer | None = None
    clip: Clip | None = None
    combine: str | None = None
    statistics: str | None = None
    weight_decay: float | None = None
    moving_average: MovingAverage | None = None
    decayed: tuple[str, ...] | None = None
    penalized: tuple[str, ...] | None = None
    about: About = dataclasses.field(default_factory=dict)

    @property
    def per_replica_batch(self) -> int:
        """Examples of one replica in one step; 0 if not known."""
        return self.global_batch // self.replicas if self.replicas else 0


def context_of_job(job: Job, about: About | None = None) -> Context:
    """Returns the `Context` of a `Job`; a lifted graph's choices are in its ops, not in fields, and not known."""
    workload = job.workload
    if workload.is_lifted:
        return Context(job.replicas, job.global_batch, about=about or {})
    return Context(
        replicas=job.replicas,
        global_batch=job.global_batch,
        optimizer=workload.optimizer,
        clip=workload.clip,
        combine=workload.combine,
        statistics=workload.statistics,
        weight_decay=workload.weight_decay,
        moving_average=workload.moving_average,
        decayed=trace_decayed(workload, job.per_replica_batch, job.dtype),
        penalized=own_penalties(workload, job.per_replica_batch, job.dtype),
        about=about or {},
    )


def context_of_towers(job: Job, stated: Mapping[str, Any] | None, about: About | None = None) -> Context:
    """Returns the `Context` of towers that may not be the job's own.

    Args:
      job: of the port.
      stated: {field of a workload: value} of the choices that are known of other towers, such as an old graph's; None
        for the job's own.
      about: as in `Context`.

    Returns:
      the context; the port's choices say nothing of other towers'.
    """
    if stated is None:
        return context_of_job(job, about)
    return Context(job.replicas, job.global_batch, about=about or {}, **stated)


def context_of_recording(settings: Mapping[str, str], about: About | None = None) -> Context:
    """Returns the `Context` of a recording's job.

    Args:
      settings: {field: text} as `Job.describe` gives them; a missing field, or a text that is not one of this
        project's records, is not known.
      about: as in `Context`.

    Returns:
      the context; decayed and penalized weights are never known, for a recording has no model.
    """

    def text(field: str) -> str:
        return settings.get("workload." + field, "None")

    return Context(
        replicas=parse_setting(settings.get("replicas", "0"), int) or 0,
        global_batch=parse_setting(settings.get("global_batch", "0"), int) or 0,
        optimizer=parse_setting(text("optimizer"), optimizers.Optimizer),
        clip=parse_setting(text("clip"), Clip),
        combine=parse_setting(text("combine"), str),
        statistics=parse_setting(text("statistics"), str),
        weight_decay=parse_setting(text("weight_decay"), (float, int)),
        moving_average=parse_setting(text("moving_average"), MovingAverage),
        about=about or {},
    )
