"""Setup: one job on both sides, from which the programs that are compared are made, without flags."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

import legacy.factory
import modern.factory
from legacy.options import LegacyOptions
from modern.collectives import strategy
from modern.options import ModernOptions
from parity.comparison.references import OTHER, References
from workloads.job import Job
from workloads.lifted.double.rewriting import in_float64
from workloads.lifted.workload import as_lifted
from workloads.program import Program, State
from workloads.sources import Source, Synthetic
from workloads.support.errors import InputError, require
from workloads.support.machine import threads
from workloads.support.machine.devices import choose_devices

#: Why another framework's recording is not compared in float64.
RECORDED_NUMBERS = "the recording holds the numbers of one precision"


@dataclasses.dataclass(frozen=True)
class Setup:
    """One job on both sides.

    Attributes:
      job: the training job.
      make_source: function from a job to its batches; a job of another dtype gets the same numbers.
      legacy: how the tower graph is built.
      modern: how the port runs.
      device: "auto", "cpu" or "gpu"; see `workloads.support.machine.devices.choose_devices`.
      logical_cpus: number of logical devices that the CPU may be divided into.
      logical_gpus: number of logical devices that each GPU is divided into.
      workers: processes that the port's replicas are divided among; legacy's towers all run in this one.
      parameter_servers: processes that hold the port's variables, or 0 for mirrored ones.
      layer_devices: devices that the layers are divided among, or 0 for one device per replica.
      port: makes the port from a setup, such as one with an injected fault; None for `modern.factory`'s.
      towers: makes the left side from a setup, such as the old graph that the workload is a port of; None for the
        towers of `legacy.factory`.
      replicated: whether a saved graph may be run at another number of replicas than it has towers, to be compared
        and not to be timed.
      first_state: the state that the port starts from; None for the workload's own initial values.
      stated: {field of a workload: value} of the choices that are known of a left side that is not built from the job,
        such as an old graph; its other choices are not known. None for towers built from the job.
      with_clip: returns the setup whose both sides clip at another limit, None where the old graph's is not found; None
        where the left side is no old graph.
      record_filter: wraps every program that is made, so that its records keep only what a recording holds; or
        None.
    """

    job: Job
    make_source: Callable[[Job], Source]
    legacy: LegacyOptions
    modern: ModernOptions
    device: str = "auto"
    logical_cpus: int = 8
    logical_gpus: int = 1
    workers: int = 1
    parameter_servers: int = 0
    layer_devices: int = 0
    port: Callable[[Setup], Program] | None = None
    towers: Callable[[Setup], Program] | None = None
    replicated: bool = False
    first_state: State | None = None
    record_filter: Callable[[Program], Program] | None = None
    stated: Mapping[str, Any] | None = None
    with_clip: Callable[[float], Setup | None] | None = None

    def devices(self) -> list[str]:
        """Returns the device of each replica; divides the CPU if replicas are to run on it.

        Raises:
          InputError: more replicas than devices.
        """
        count = self.layer_devices or self.job.replicas
        chosen = choose_devices(self.device, count, self.logical_cpus, self.logical_gpus)
        if chosen[0].startswith("CPU"):
            strategy.divide_cpu(self.logical_cpus)
        return chosen

    def start_devices(self) -> None:
        """Starts TensorFlow with the setup's devices and threads, before a session with other settings does."""
        self._devices_with_threads()
        tf.config.list_logical_devices()

    def legacy_program(self, dtype: str | None = None) -> Program:
        """Makes the towers, in the job's dtype or another."""
        program = self._towers(dtype)
        return program if self.record_filter is None else self.record_filter(program)

    def _towers(self, dtype: str | None) -> Program:
        devices = self._devices_with_threads()  # first: they cannot be set once TensorFlow runs
        job = self._job_in(dtype)
        if self.towers is not None:
            return self.towers(dataclasses.replace(self, job=job, towers=None))
        return legacy.factory.legacy_program(job, self.make_source(job), self.legacy, devices, self.replicated)

    def modern_program(self, dtype: str | None = None) -> Program:
        """Makes the port, in the job's dtype or another, at its first state."""
        program = self._port(self._job_in(dtype))
        if self.first_state is not None:
            program.load(self.first_state.cast(dtype or self.job.dtype))
        return program if self.record_filter is None else self.record_filter(program)

    def _port(self, job: Job) -> Program:
        if self.port is not None:
            return self.port(dataclasses.replace(self, job=job, port=None))
        if self.parameter_servers:
            from modern.multi_worker.parameter_server_program import start_parameter_server_program

            return start_parameter_server_program(job, self.make_source(job), self.modern, self.parameter_servers)
        if self.workers > 1:
            from modern.multi_worker.cluster_program import ClusterProgram

            devices = self.devices()[: job.replicas // self.workers]
            return ClusterProgram(job, self.make_source, self.modern, self.workers, devices)
        return modern.factory.modern_program(job, self.make_source(job), self.modern, self._devices_with_threads())

    def _devices_with_threads(self) -> list[str]:
        """Returns `devices`, whose ops are given their threads."""
        devices = self.devices()
        threads.set_within_ops(self.threads_within_ops())
        return devices

    def threads_within_ops(self) -> int:
        """Returns how many cores each op has where replicas share them; 0 where that is left to TensorFlow."""
        shared = not self.modern.exact and not self.layer_devices and self.devices()[0].startswith("CPU")
        return threads.share_of_cores(self.job.replicas) if shared else 0

    @property
    def has_old_graph(self) -> bool:
        """Whether the left side is a saved graph, which may have parts that exist in float32 only."""
        return self.job.workload.is_lifted or self.towers is not None

    @property
    def has_written_port(self) -> bool:
        """Whether the port's forward pass is code of its own, and not the one that the towers have."""
        if not self.job.workload.is_lifted:
            return self.towers is not None
        lift = as_lifted(self.job.workload)
        return bool(lift.losses) or lift.port is not None

    def _job_in(self, dtype: str | None) -> Job:
        """Returns the job in another dtype; a lifted graph is rewritten for it.

        Raises:
          NotInDouble: a lifted graph cannot be rewritten.
        """
        if dtype is None or dtype == self.job.dtype:
            return self.job
        workload = self.job.workload
        if workload.is_lifted:
            require(dtype == "float64", "--dtype", dtype, "a lifted graph is rewritten to float64 only")
            workload = in_float64(as_lifted(workload))
        return dataclasses.replace(self.job, workload=workload, dtype=dtype)

    def references(self, weight_ulps: int = 1) -> References:
        """Makes the programs that accompany a comparison under "auto".

        Those of a saved graph, and of a port that is written for it, are left out in float64, with the reason, where
        they have a part that exists in float32 only; the port in float64 where it is another framework's recording.

        Args:
          weight_ulps: see `References`.
        """
        other = OTHER[self.job.dtype]
        with contextlib.ExitStack() as stack:
            again = stack.enter_context(self.legacy_program())
            truth, reason = self._unless_single_only(stack, lambda: self.legacy_program(other))
            port = None
            if self.record_filter is not None:
                reason = reason or RECORDED_NUMBERS
            elif truth is not None and other == "float64":
                port, reason = self._unless_single_only(stack, self._port_in_float64)
            stack.pop_all()
        return References(self.job.dtype, again, truth, port, reason, self._is_written_for_old_graph(), weight_ulps)

    def _unless_single_only(
        self, stack: contextlib.ExitStack, make: Callable[[], Program]
    ) -> tuple[Program | None, str]:
        """Makes a program in another precision, which the stack closes.

        Args:
          stack: of the programs that are open.
          make: makes the program.

        Returns:
          (the program, ""); (None, the reason) for a part of a saved graph, or of a port of one, in float32 only.
        """
        if not self.has_old_graph:
            return stack.enter_context(make()), ""
        try:
            with contextlib.ExitStack() as made:
                program = made.enter_context(make())
                program.step()  # an op that fails in float64 only shows itself here
                stack.push(made.pop_all())
            return program, ""
        except InputError as error:
            return None, str(error)

    def _port_in_float64(self) -> Program:
        """Makes the port in float64; one that is written for an old graph is rewritten as the old graph is.

        Raises:
          InputError: it cannot be rewritten.
        """
        if not self._is_written_for_old_graph():
            return self.modern_program("float64")
        devices = self._devices_with_threads()
        program = modern.factory.program_in_double(self.job, self.make_source(self.job), self.modern, devices)
        if self.first_state is not None:
            program.load(self.first_state.cast("float64"))
        return program

    def _is_written_for_old_graph(self) -> bool:
        """Whether losses or steps that are written as functions are compared with those of a saved graph."""
        if not self.job.workload.is_lifted:
            return self.towers is not None
        lift = as_lifted(self.job.workload)
        return bool(lift.losses) or lift.port is not None

    def closing_references(self, weight_ulps: int = 1) -> contextlib.closing[References]:
        """Makes `references` as a context manager that closes them."""
        return contextlib.closing(self.references(weight_ulps))


def exact_setup(job: Job, device: str = "cpu", all_reduce: str = "tower_order") -> Setup:
    """Returns the setup of a job on its synthetic batches, with both sides run for identical bits.

    Args:
      job: the training job.
      device: see `Setup`.
      all_reduce: see `ModernOptions`; bits are identical if it adds the replicas in their order.

    Returns:
      the setup.
    """
    return Setup(job, Synthetic, LegacyOptions(exact=True), ModernOptions(all_reduce=all_reduce, exact=True), device)
