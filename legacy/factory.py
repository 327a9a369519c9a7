"""The old side of a job, whatever kind of workload it is."""

from __future__ import annotations

from workloads.lifted.workload import LiftedWorkload
from workloads.support.errors import require


def program(job, source, options, devices):
    """The `Program` that runs `job` the old way: towers built here, or the saved graph as it is.

    Raises:
      InputError: a saved graph has another number of towers.
    """
    if isinstance(job.workload, LiftedWorkload):
        from legacy.rerun.program import OldGraphProgram

        towers = job.workload.plan.towers
        require(job.replicas == towers, "--replicas", job.replicas, f"the old graph has {towers} towers")
        return OldGraphProgram(job, source, options, devices)
    from legacy.towers.program import LegacyProgram

    return LegacyProgram(job, source, options, devices)
