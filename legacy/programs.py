"""The old side of a job, whatever kind of workload it is."""

from __future__ import annotations

from workloads.errors import require
from workloads.lifted.workload import LiftedWorkload


def program(job, source, options, devices):
    """The `Program` that runs `job` the old way: towers built here, or the saved graph as it is.

    Raises:
      InputError: a saved graph has another number of towers.
    """
    if isinstance(job.workload, LiftedWorkload):
        from legacy.old_graph import OldGraphProgram

        towers = job.workload.plan.towers
        require(job.replicas == towers, "--replicas", job.replicas, "the old graph has {} towers".format(towers))
        return OldGraphProgram(job, source, options, devices)
    from legacy.program import LegacyProgram

    return LegacyProgram(job, source, options, devices)
