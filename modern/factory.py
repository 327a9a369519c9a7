"""The new side of a job, whatever kind of workload it is."""

from __future__ import annotations

from workloads.lifted.workload import LiftedWorkload
from workloads.support.errors import require


def program(job, source, options, devices, worker=None):
    """The `Program` that runs `job` under a `tf.distribute` strategy, or a `cluster.Worker`'s share of it.

    Raises:
      InputError: the options are not for this kind of workload.
    """
    if isinstance(job.workload, LiftedWorkload):
        from modern.lifted.program import LiftedProgram

        require(options.update_rules == "tf1", "--update_rules", options.update_rules, "a lift keeps its own; only tf1")
        require(options.autodiff != "tape", "--autodiff", options.autodiff, "for a lifted workload: graph, new")
        require(worker is None, "--strategy", "multi_worker", "not for a lifted workload")
        require(not options.xla, "--xla", options.xla, "not for a lifted workload")
        return LiftedProgram(job, source, options, devices)
    require(options.autodiff != "new", "--autodiff", options.autodiff, "only for a lifted workload; graph, tape")
    if options.placement == "layers":
        require(worker is None, "--placement", "layers", "in one process")
        require(job.staleness is None, "--staleness", job.staleness, "not with --placement=layers")
        require(not options.xla, "--xla", options.xla, "not with --placement=layers")
        require(options.update_rules == "tf1", "--update_rules", options.update_rules, "with layers on devices: tf1")
        from modern.model_parallel.program import PipelineProgram

        return PipelineProgram(job, source, options, devices)
    if job.staleness is not None:
        require(options.update_rules == "tf1", "--update_rules", options.update_rules, "with --staleness: tf1")
    from modern.mirrored.program import ModernProgram

    return ModernProgram(job, source, options, devices, worker)
