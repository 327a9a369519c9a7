"""Factory of modern programs: by the kind of workload and by the placement of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.support.errors import require

if TYPE_CHECKING:
    from modern.collectives.worker import Worker
    from modern.options import ModernOptions
    from workloads.job import Job
    from workloads.program import Program
    from workloads.sources import Source


#: Programs whose activations can be recorded.
TAPPED = "mirrored replicas in one process, without --staleness or --xla"


def modern_program(
    job: Job, source: Source, options: ModernOptions, devices: list[str], worker: Worker | None = None
) -> Program:
    """Makes the program that runs a job under a `tf.distribute` strategy.

    Args:
      job: the `Job`.
      source: the `Source` of its batches.
      options: choices of the port.
      devices: the device of each replica, or of each pipeline stage.
      worker: the worker that this process is, which runs its share of the job; None for the only one.

    Returns:
      the program.

    Raises:
      InputError: the options are not for this job.
    """
    _check_options(job, options, worker)
    if job.workload.is_lifted:
        from modern.lifted.program import LiftedProgram

        return LiftedProgram(job, source, options, devices)
    if job.workload.has_own_step:
        from modern.steps.program import StepProgram

        return StepProgram(job, source, options, devices)
    if options.placement == "layers":
        from modern.model_parallel.program import PipelineProgram

        return PipelineProgram(job, source, options, devices)
    from modern.mirrored.program import ModernProgram

    return ModernProgram(job, source, options, devices, worker)


def program_in_double(job: Job, source: Source, options: ModernOptions, devices: list[str]) -> Program:
    """Makes the port of a float32 job whose loss or step is written, with its float32 step rewritten to float64.

    Args:
      job: the `Job`, in float32.
      source: the `Source` of its batches.
      options: choices of the port.
      devices: the device of each replica.

    Returns:
      the program.

    Raises:
      NotInDouble: it cannot be rewritten; of an op this shows in its first step only.
    """
    from modern.double import programs
    from workloads.lifted.double.errors import NotInDouble

    _check_options(job, options, None)
    if job.workload.has_own_step or options.placement == "layers" or job.staleness is not None:
        raise NotInDouble("only a port with mirrored replicas, in synchronous training, has a form in float64")
    kind = programs.DoubleLiftedProgram if job.workload.is_lifted else programs.DoubleProgram
    return kind(job, source, options, devices)


def program_with_other_bound(
    job: Job, source: Source, options: ModernOptions, devices: list[str], bound: tuple[float, float]
) -> Program:
    """Makes the port of a lift's job whose step is written, with another value of a bound of its update.

    Args:
      job: the `Job`, of a lift with a port.
      source: the `Source` of its batches.
      options: choices of the port.
      devices: the device of each replica.
      bound: (the port's number, the one that takes its place).

    Returns:
      the program.
    """
    from modern.double.other_bounds import OtherBoundProgram

    _check_options(job, options, None)
    return OtherBoundProgram(job, source, options, devices, *bound)


def _check_options(job: Job, options: ModernOptions, worker: Worker | None) -> None:
    """Raises `InputError` unless the program of a job has these options."""
    lifted, layers = job.workload.is_lifted, options.placement == "layers"
    require(
        options.variables != "first" or (worker is None and not lifted and not layers),
        "--variables",
        "first",
        "in one process, not for a lift",
    )
    plain = worker is None and not layers and job.staleness is None and not options.xla
    require(not options.taps or plain, "--taps", ",".join(options.taps), f"with {TAPPED}")
    if lifted:
        _check_lifted(job, options, worker)
        return
    require(options.autodiff != "new", "--autodiff", options.autodiff, "only for a lifted workload; graph, tape")
    if job.workload.has_own_step:
        _check_own_step(job, options, worker)
        return
    if layers:
        _check_layers(job, options, worker)
    elif options.update_rules != "tf1":
        require(options.variables != "first", "--update_rules", options.update_rules, "with --variables=first: tf1")
        require(job.staleness is None, "--update_rules", options.update_rules, "with --staleness: tf1")


def _check_lifted(job: Job, options: ModernOptions, worker: Worker | None) -> None:
    from workloads.lifted.workload import as_lifted

    require(options.update_rules == "tf1", "--update_rules", options.update_rules, "a lift keeps its own; only tf1")
    require(options.autodiff != "tape", "--autodiff", options.autodiff, "for a lifted workload: graph, new")
    require(worker is None, "--strategy", "multi_worker", "not for a lifted workload")
    require(not options.xla, "--xla", options.xla, "not for a lifted workload")
    written = options.taps and as_lifted(job.workload).losses
    require(not written, "--taps", ",".join(options.taps), "written losses have no ops of the old graph")


def _check_own_step(job: Job, options: ModernOptions, worker: Worker | None) -> None:
    """Raises `InputError` for an option that a step which is written as a function does not have."""
    why = f"{job.workload.name} has a step of its own; "
    require(options.update_rules == "tf1", "--update_rules", options.update_rules, why + "only tf1")
    require(options.autodiff == "graph", "--autodiff", options.autodiff, why + "only graph")
    require(options.variables != "first", "--variables", options.variables, why + "each replica has its variables")
    require(options.placement == "towers", "--placement", options.placement, why + "only towers")
    require(worker is None, "--strategy", "multi_worker", why + "in one process")
    require(not options.xla, "--xla", options.xla, why + "not compiled")
    require(not options.taps, "--taps", ",".join(options.taps), why + "no taps")
    require(job.dtype == "float32", "--dtype", job.dtype, why + "only float32")
    require(job.staleness is None, "--staleness", job.staleness, why + "only synchronous")


def _check_layers(job: Job, options: ModernOptions, worker: Worker | None) -> None:
    require(worker is None, "--placement", "layers", "in one process")
    require(job.staleness is None, "--staleness", job.staleness, "not with --placement=layers")
    require(not options.xla, "--xla", options.xla, "not with --placement=layers")
    require(options.update_rules == "tf1", "--update_rules", options.update_rules, "with layers on devices: tf1")
