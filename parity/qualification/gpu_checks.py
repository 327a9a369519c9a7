"""Checks of a machine with GPUs: each a command of this project, in a process of its own, with its JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from parity.processes.json_command import run_json_command

#: Environment of runs whose kernels give the same bits each time: no TensorFloat-32, no atomic additions. Otherwise
#: each program picks its convolutions by timing them, and one may round to TensorFloat-32 what the other does not:
#: then no speed is reported, since parity is not shown.
DETERMINISTIC = {"TF_DETERMINISTIC_OPS": "1", "NVIDIA_TF32_OVERRIDE": "0"}

#: Titles of the page's parts, in order.
TOPOLOGY = "Devices and links"
DETERMINISTIC_PARITY = "Parity with deterministic kernels"
TF32_PARITY = "Parity with TensorFloat-32"
SPEED = "Speed: the port over the towers"
NCCL = "Speed with NCCL"
PROFILE = "Where a step's time goes"

#: {value of `--parts`: title of the part}.
PARTS = {
    "topology": TOPOLOGY,
    "deterministic": DETERMINISTIC_PARITY,
    "tf32": TF32_PARITY,
    "speed": SPEED,
    "nccl": NCCL,
    "profile": PROFILE,
}

#: Parts whose checks measure time, so that nothing else may run beside them.
TIMED = (SPEED, NCCL, PROFILE)

#: Updates of weights that the towers keep on a GPU run on its kernels, as the port's do; those of weights in the
#: host's memory, the towers' default, round otherwise.
ON_GPU = "--legacy_variables=tower"


class GpuMachine(NamedTuple):
    """The GPUs that checks are planned for.

    Attributes:
      gpus: number of cards; 0 for a CPU, on which everything can be tried but TensorFloat-32 and NCCL.
      replicas: most replicas; where there are fewer cards, each is divided.
    """

    gpus: int
    replicas: int

    @property
    def logical_gpus(self) -> int:
        """Logical devices of each card, enough for all replicas."""
        return -(-self.replicas // self.gpus) if self.gpus else 1


class GpuCheck(NamedTuple):
    """One check.

    Attributes:
      part: the part of the page that it belongs to.
      workload: name of the workload, or "".
      replicas: number of replicas, or 0.
      module: the command's module.
      arguments: its flags, without `--json`.
      variables: environment variables that it gets beside this process's.
    """

    part: str
    workload: str
    replicas: int
    module: str
    arguments: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()


class CheckResult(NamedTuple):
    """The end of a check.

    Attributes:
      check: the check.
      status: its exit status.
      result: its JSON, or None if it wrote none.
      error: the last line that it wrote to stderr, if its status is not 0.
    """

    check: GpuCheck
    status: int
    result: Any
    error: str

    def to_json(self) -> dict[str, Any]:
        """Returns the result for `--json`."""
        return {**self.check._asdict(), "status": self.status, "error": self.error, "result": self.result}

    @classmethod
    def from_json(cls, entry: dict[str, Any]) -> CheckResult:
        """Returns the result that `to_json` made; raises KeyError, TypeError or ValueError for anything else."""
        fields = {**entry, "arguments": tuple(entry["arguments"])}
        fields["variables"] = tuple((name, value) for name, value in entry["variables"])
        return cls(
            GpuCheck(*(fields[name] for name in GpuCheck._fields)), entry["status"], entry["result"], entry["error"]
        )


def plan_checks(
    machine: GpuMachine, workloads: Sequence[str], steps: int, size: str, timing: Sequence[str] = ()
) -> Iterator[GpuCheck]:
    """Plans the checks for a machine.

    Args:
      machine: its GPUs.
      workloads: names of the workloads.
      steps: number of steps that are compared.
      size: value of `--size`.
      timing: more flags of `parity.benchmark`, such as "--blocks=10".

    Yields:
      the checks, in the order of the page.
    """
    on_gpu = (ON_GPU,) if machine.gpus else ()
    yield GpuCheck(TOPOLOGY, "", 0, "modern.topology")
    yield from _parity_checks(machine, workloads, steps, size)
    for name in workloads:
        for replicas in sorted({1, machine.replicas}):
            job = (*_job(machine, name, replicas, size), *on_gpu, *timing)
            yield GpuCheck(SPEED, name, replicas, "parity.benchmark", job, tuple(DETERMINISTIC.items()))
    if machine.gpus >= 2:
        for name in workloads:
            nccl = (*_job(machine, name, machine.gpus, size), *on_gpu, "--all_reduce=nccl", *timing)
            yield GpuCheck(NCCL, name, machine.gpus, "parity.benchmark", nccl)
    for name in workloads:
        job = (*_job(machine, name, machine.replicas, size), *on_gpu)
        yield GpuCheck(PROFILE, name, machine.replicas, "parity.profile", job)


def _parity_checks(machine: GpuMachine, workloads: Sequence[str], steps: int, size: str) -> Iterator[GpuCheck]:
    kinds: list[tuple[str, tuple[str, ...], dict[str, str]]] = []
    kinds.append((DETERMINISTIC_PARITY, ("--tolerance=exact", *((ON_GPU,) if machine.gpus else ())), DETERMINISTIC))
    if machine.gpus:
        kinds.append((TF32_PARITY, ("--tolerance=auto",), {}))
    for part, more, variables in kinds:
        for name in workloads:
            job = (*_job(machine, name, machine.replicas, size), f"--steps={steps}", *more)
            yield GpuCheck(part, name, machine.replicas, "parity.verify", job, tuple(variables.items()))


def _job(machine: GpuMachine, workload: str, replicas: int, size: str) -> tuple[str, ...]:
    divided = machine.logical_gpus if replicas > machine.gpus else 1
    return (f"--workload={workload}", f"--replicas={replicas}", f"--size={size}", f"--logical_gpus={divided}")


def run_check(check: GpuCheck) -> CheckResult:
    """Runs a check in a process of its own and returns its result."""
    end = run_json_command(check.module, check.arguments, dict(check.variables))
    return CheckResult(check, end.status, end.result, end.error)
