"""Factory of legacy programs: towers built from a workload, or a saved graph as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.support.errors import require

if TYPE_CHECKING:
    from legacy.options import LegacyOptions
    from workloads.job import Job
    from workloads.program import Program
    from workloads.sources import Source


def legacy_program(
    job: Job, source: Source, options: LegacyOptions, devices: list[str], replicated: bool = False
) -> Program:
    """Makes the program that runs a job the old way: towers built here, or the saved graph as it is.

    Args:
      job: the `Job`.
      source: the `Source` of its batches.
      options: choices of the tower graph.
      devices: the device of each tower.
      replicated: whether a saved graph may be run at another number of replicas than it has towers, as a reference.

    Returns:
      the program.

    Raises:
      InputError: the options are not for this job.
    """
    if job.workload.is_lifted:
        from legacy.rerun.program import OldGraphProgram
        from workloads.lifted.workload import as_lifted

        towers = as_lifted(job.workload).plan.towers
        if replicated and job.replicas != towers:
            from legacy.rerun.replicated import ReplicatedOldGraph

            return ReplicatedOldGraph(job, source, options, devices)
        require(job.replicas == towers, "--replicas", job.replicas, f"the old graph has {towers} towers")
        return OldGraphProgram(job, source, options, devices)
    require(
        job.staleness is None or options.updates == "sync",
        "--staleness",
        job.staleness,
        "cannot be set with --updates=async (staleness is not controlled there)",
    )
    own = "has a step of its own, which towers do not run: compare it with its old graph, by --against"
    require(not job.workload.has_own_step, "--workload", job.workload.name, own)
    from legacy.towers.program import LegacyProgram

    return LegacyProgram(job, source, options, devices)
