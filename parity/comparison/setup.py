"""Builds the programs that are compared, in this process, from plain options and without flags."""

from __future__ import annotations

import contextlib
import dataclasses

from legacy import factory as legacy_programs
from modern import factory as modern_programs
from modern.collectives import strategy
from modern.multi_worker import parameter_server_program as parameter_servers
from modern.multi_worker.cluster_program import ClusterProgram
from parity.comparison.noise_floor import Floor
from workloads.support import devices as devices_lib


@dataclasses.dataclass(frozen=True)
class Setup:
    """One job on both sides.

    Attributes:
      job: the `Job`.
      make_source: function from a job to its `Source`; a job of another dtype gets the same numbers.
      legacy, modern: `LegacyOptions` and `ModernOptions`.
      device, logical_cpus: see `workloads.support.devices.choose_devices`.
      workers: processes that the port's replicas are divided among; legacy's towers all run in this one.
      layer_devices: devices that the layers are divided among, or 0 for a device a replica.
      parameter_servers: processes that hold the port's variables, or 0 for mirrored ones.
    """

    job: object
    make_source: object
    legacy: object
    modern: object
    device: str = "auto"
    logical_cpus: int = 8
    workers: int = 1
    parameter_servers: int = 0
    layer_devices: int = 0

    def devices(self):
        """The device of each replica; divides the CPU if replicas are to run on it.

        Raises:
          InputError: more replicas than devices.
        """
        chosen = devices_lib.choose_devices(self.device, self.layer_devices or self.job.replicas, self.logical_cpus)
        if chosen[0].startswith("CPU"):
            strategy.divide_cpu(self.logical_cpus)
        return chosen

    def legacy_program(self, dtype=None):
        """The towers, in the job's dtype or another."""
        job = self.job if dtype is None else dataclasses.replace(self.job, dtype=dtype)
        return legacy_programs.legacy_program(job, self.make_source(job), self.legacy, self.devices())

    def modern_program(self):
        """The port."""
        if self.parameter_servers:
            return parameter_servers.start_parameter_server_program(
                self.job, self.make_source(self.job), self.modern, self.parameter_servers
            )
        if self.workers > 1:
            devices = self.devices()[: self.job.replicas // self.workers]
            return ClusterProgram(self.job, self.make_source, self.modern, self.workers, devices)
        return modern_programs.modern_program(self.job, self.make_source(self.job), self.modern, self.devices())

    def floor(self):
        """A `Floor` of fresh legacy programs: one more of this job, and one in the other precision.

        None for a lifted workload: a saved graph has its precision built in.
        """
        if self.job.workload.is_lifted:
            return None
        other = "float64" if self.job.dtype == "float32" else "float32"
        return Floor(self.legacy_program(), self.legacy_program(other), self.job.dtype)

    def closing_floor(self):
        """`floor` as a context manager."""
        floor = self.floor()
        return contextlib.nullcontext() if floor is None else contextlib.closing(floor)
