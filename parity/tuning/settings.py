"""Settings that can be tuned: options of the port and of its process, and the values that are worth trying."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from modern.options import ALL_REDUCES
from parity.comparison.setup import Setup
from parity.speed.one_device import reason_for_parts
from workloads.job import Job

#: glibc's own first thresholds: blocks from 128 KiB on go back to the system when they are freed.
GIVEN_BACK = (("MALLOC_TRIM_THRESHOLD_", "131072"), ("MALLOC_MMAP_THRESHOLD_", "131072"))


@dataclasses.dataclass(frozen=True)
class Settings:
    """Differences from the defaults.

    Attributes:
      options: ((field of `ModernOptions`, value), ...); each is a flag of the same name.
      variables: ((environment variable, text), ...).
      replicas: number of replicas, or None for the job's.
    """

    options: tuple[tuple[str, Any], ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    replicas: int | None = None

    def join(self, other: Settings) -> Settings:
        """Returns both settings together; the other's values count where both have one."""
        options = {**dict(self.options), **dict(other.options)}
        variables = {**dict(self.variables), **dict(other.variables)}
        return Settings(tuple(options.items()), tuple(variables.items()), other.replicas or self.replicas)

    def apply(self, setup: Setup) -> Setup:
        """Returns a setup with these options and replicas."""
        job = dataclasses.replace(setup.job, replicas=self.replicas or setup.job.replicas)
        return dataclasses.replace(setup, job=job, modern=dataclasses.replace(setup.modern, **dict(self.options)))

    def command_line(self) -> str:
        """Returns the text before and after a command that repeats the settings; "..." stands for the command.

        >>> Settings((("xla", True), ("steps_per_call", 10)), (("TF_ENABLE_ONEDNN_OPTS", "0"),), 4).command_line()
        'TF_ENABLE_ONEDNN_OPTS=0 ... --xla=true --steps_per_call=10 --replicas=4'
        """
        flags = [f"--{name}={str(value).lower()}" for name, value in self.options]
        flags += [f"--replicas={self.replicas}"] if self.replicas else []
        return " ".join([*(f"{name}={text}" for name, text in self.variables), "...", *flags])


class Knob(NamedTuple):
    """One thing that can be set, and the values to try."""

    name: str
    values: Sequence[Settings]


def knobs_of(setup: Setup, cores: int, same_at_any_replicas: bool) -> Iterator[Knob]:
    """Finds the knobs of a job on this machine.

    Args:
      setup: the job and its defaults.
      cores: number of the processor's cores.
      same_at_any_replicas: see `is_same_at_any_replicas`.

    Yields:
      the knobs, in the order in which they are to be tried.
    """
    on_cpu = setup.devices()[0].startswith("CPU")
    if same_at_any_replicas:
        yield Knob("replicas", [Settings(replicas=count) for count in _other_replicas(setup, cores)])
    calls = (1, 10, 100)
    yield Knob("steps per call", [_option("steps_per_call", n) for n in calls if n != setup.modern.steps_per_call])
    if on_cpu:
        default = (setup.threads_within_ops() or cores, cores)
        counts = {(1, 1), (1, cores), (cores, 1), (cores, cores)} - {default}
        yield Knob("threads", [_threads(*numbers) for numbers in sorted(counts)])
        yield Knob("oneDNN", [Settings(variables=(("TF_ENABLE_ONEDNN_OPTS", "0"),))])
        yield Knob("freed memory given back", [Settings(variables=GIVEN_BACK)])
    if setup.job.replicas > 1 and not setup.job.workload.is_lifted:
        yield Knob("variables", [_option("variables", "mirrored" if on_cpu else "first")])
    yield Knob("all-reduce", [_option("all_reduce", name) for name in _other_all_reduces(setup, on_cpu)])
    yield Knob("XLA", [_option("xla", not setup.modern.xla)])


def is_same_at_any_replicas(job: Job) -> bool:
    """Whether a job's mathematics does not depend on its number of replicas, but for the order of additions."""
    if job.workload.is_lifted or job.staleness is not None:
        return False  # an old graph has its number of towers, and late gradients count replicas
    return not reason_for_parts(job)


def _option(name: str, value: Any) -> Settings:
    return Settings(((name, value),))


def _threads(within_ops: int, between_ops: int) -> Settings:
    names = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
    return Settings(variables=tuple(zip(names, (str(within_ops), str(between_ops)))))


def _other_replicas(setup: Setup, cores: int) -> Iterator[int]:
    """Other numbers of replicas, powers of two, that divide the global batch."""
    for count in (1, 2, 4, 8):
        if count != setup.job.replicas and count <= max(cores, 2) and setup.job.global_batch % count == 0:
            yield count


def _other_all_reduces(setup: Setup, on_cpu: bool) -> Iterator[str]:
    """Other all-reduces that can run between the job's replicas in one process."""
    replicas = setup.job.replicas
    for row in ALL_REDUCES.values():
        enough = row.gpus == 0 or (not on_cpu and replicas >= row.gpus)
        if row.in_process and enough and not (row.even and replicas % 2) and row.name != setup.modern.all_reduce:
            yield row.name
