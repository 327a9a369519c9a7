"""The port on one device without a strategy, and the view of the towers in which it can be compared with them."""

from __future__ import annotations

import dataclasses

import numpy as np

from modern.model_parallel.program import PipelineProgram
from parity.comparison.setup import Setup
from workloads import tracing
from workloads.job import Job
from workloads.program import Arrays, Program, RecordRewriter, StepRecord
from workloads.records.writer import batch_digest


class OneDeviceProgram(PipelineProgram):
    """The port on one device: one `tf.function`, no strategy, no exchange between devices."""

    def describe(self) -> dict[str, str]:
        parts = self._job.replicas
        whole = "none, the whole batch at once" if parts == 1 else f"{self._options.average} of {parts} parts, in order"
        return {**super().describe(), "program": "one tf.function on one device", "reduction": whole}


class TowersAsOne(RecordRewriter):
    """Shows the records of towers as those of one program that takes the whole batch at once.

    Losses and gradients are the towers' means; instead of each tower's batch, the examples of all are compared.
    """

    def rewrite(self, record: StepRecord) -> StepRecord:
        examples = np.concatenate(record.examples) if record.examples else np.zeros(0)
        return dataclasses.replace(
            record,
            digests=[batch_digest({"examples": examples})],
            losses=[_mean(record.losses)],
            gradients=[_mean_of_gradients(record.gradients)],
            examples=[examples],
            masks=[],
            proposals=[],
        )


class AsItIs(RecordRewriter):
    """Shows a program's records as they are."""

    def rewrite(self, record: StepRecord) -> StepRecord:
        return record


def reason_against(setup: Setup) -> str:
    """Returns why there is no such program for a setup; "" where there is one."""
    options = setup.modern
    if setup.job.workload.is_lifted:
        return "a lifted graph has its towers"
    if setup.job.staleness is not None or setup.legacy.updates == "async":
        return "late updates need replicas"
    if setup.parameter_servers:
        return "parameter servers are processes"
    if options.update_rules != "tf1":
        return f"--update_rules={options.update_rules} needs a strategy"
    return "XLA compiles a replica's function" if options.xla else ""


def reason_for_parts(job: Job) -> str:
    """Returns why the whole batch at once is other mathematics than towers that share it; "" if nothing is known."""
    workload = job.workload
    if workload.combine == "sum":
        return "the towers' gradients are summed"
    if workload.clip is not None and workload.clip.where == "tower":
        return "each tower's gradients are clipped"
    if tracing.has_statistics(workload):
        return "batch statistics are a tower's own"
    if tracing.trace_noise(workload, job.per_replica_batch, job.dtype):
        return "noise is a tower's own"
    return ""


def one_device_program(setup: Setup, in_parts: bool, dtype: str | None = None) -> Program:
    """Makes the port on the setup's first device.

    Args:
      setup: the job.
      in_parts: takes the global batch in as many parts as there are replicas, all in one function: the same
        mathematics whatever the workload; else the whole batch at once.
      dtype: of the program; None for the job's.

    Returns:
      the program.
    """
    devices = setup.devices()[:1]
    job = dataclasses.replace(setup.job, dtype=dtype or setup.job.dtype)
    if not in_parts:
        job = dataclasses.replace(job, replicas=1)
    return OneDeviceProgram(job, setup.make_source(job), setup.modern, devices)


def _mean(values: list[np.ndarray]) -> np.ndarray:
    return np.mean(np.stack([np.asarray(value) for value in values]), axis=0)


def _mean_of_gradients(gradients: list[Arrays]) -> Arrays:
    return {name: _mean([own[name] for own in gradients]) for name in gradients[0]}
