"""Checks of a machine with GPUs: each a command of this project, in a process of its own, with its JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from parity.processes.json_command import run_json_command

#: Environment of runs whose kernels give the same bits each time: no TensorFloat-32, no atomic additions.
DETERMINISTIC = {"TF_DETERMINISTIC_OPS": "1", "NVIDIA_TF32_OVERRIDE": "0"}

#: Titles of the page's parts, in order.
TOPOLOGY = "Devices and links"
DETERMINISTIC_PARITY = "Parity with deterministic kernels"
TF32_PARITY = "Parity with TensorFloat-32"
SPEED = "Speed: the port over the towers"
NCCL = "Speed with NCCL"
PROFILE = "Where a step's time goes"


class Machine(NamedTuple):
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


class Check(NamedTuple):
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

    check: Check
    status: int
    result: Any
    error: str

    def to_json(self) -> dict[str, Any]:
        """Returns the result for `--json`."""
        return {**self.check._asdict(), "status": self.status, "error": self.error, "result": self.result}


def plan_checks(machine: Machine, workloads: Sequence[str], steps: int, size: str) -> Iterator[Check]:
    """Plans the checks for a machine.

    Args:
      machine: its GPUs.
      workloads: names of the workloads.
      steps: number of steps that are compared.
      size: value of `--size`.

    Yields:
      the checks, in the order of the page.
    """
    yield Check(TOPOLOGY, "", 0, "modern.topology")
    yield from _parity_checks(machine, workloads, steps, size)
    for name in workloads:
        for replicas in sorted({1, machine.replicas}):
            yield Check(SPEED, name, replicas, "parity.benchmark", _job(machine, name, replicas, size))
    if machine.gpus >= 2:
        for name in workloads:
            nccl = (*_job(machine, name, machine.gpus, size), "--all_reduce=nccl")
            yield Check(NCCL, name, machine.gpus, "parity.benchmark", nccl)
    for name in workloads:
        yield Check(PROFILE, name, machine.replicas, "parity.profile", _job(machine, name, machine.replicas, size))


def _parity_checks(machine: Machine, workloads: Sequence[str], steps: int, size: str) -> Iterator[Check]:
    kinds = [(DETERMINISTIC_PARITY, "exact", DETERMINISTIC)]
    if machine.gpus:
        kinds.append((TF32_PARITY, "auto", {}))
    for part, tolerance, variables in kinds:
        for name in workloads:
            job = (*_job(machine, name, machine.replicas, size), f"--steps={steps}", f"--tolerance={tolerance}")
            yield Check(part, name, machine.replicas, "parity.verify", job, tuple(variables.items()))


def _job(machine: Machine, workload: str, replicas: int, size: str) -> tuple[str, ...]:
    divided = machine.logical_gpus if replicas > machine.gpus else 1
    return (f"--workload={workload}", f"--replicas={replicas}", f"--size={size}", f"--logical_gpus={divided}")


def run_check(check: Check) -> CheckResult:
    """Runs a check in a process of its own and returns its result."""
    end = run_json_command(check.module, check.arguments, dict(check.variables))
    return CheckResult(check, end.status, end.result, end.error)
