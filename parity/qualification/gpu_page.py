"""Page about a machine with GPUs, as Markdown, from the results of its checks."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from parity.qualification import gpu_checks
from parity.qualification.gpu_checks import CheckResult, GpuMachine
from parity.speed.ratio import ratio_from_json, ratio_text
from workloads.support.wording import counted

#: Stages of a step whose largest difference the page shows.
_STAGES = ("loss", "gradients", "weights")


def page_lines(results: Sequence[CheckResult], machine: GpuMachine, environment: Mapping[str, str]) -> Iterator[str]:
    """Yields the page line by line.

    Args:
      results: of all checks, in their order.
      machine: the GPUs.
      environment: {item: text} about this machine.

    Yields:
      lines of Markdown.
    """
    yield "# On GPUs" if machine.gpus else "# Without a GPU"
    yield ""
    if not machine.gpus:
        yield "This machine has no GPU: the checks ran on its CPU, and say nothing about GPUs."
        yield ""
    elif machine.logical_gpus > 1:
        replicas, gpus = counted(machine.replicas, "replica"), counted(machine.gpus, "GPU")
        yield f"{replicas} on {gpus}: each is divided into {machine.logical_gpus}."
        yield ""
    yield "; ".join(f"{item}: {text}" for item, text in environment.items()) + "."
    for part, lines in _PARTS.items():
        of_part = [result for result in results if result.check.part == part]
        if of_part:
            yield from ("", f"## {part}", "")
            yield from lines([result for result in of_part if result.result is not None])
            yield from _failures(of_part)


def _failures(results: Sequence[CheckResult]) -> Iterator[str]:
    """A line for each check that ended with an error and no result."""
    for result in results:
        if result.result is None:
            check = result.check
            yield f"\n`{check.module} {' '.join(check.arguments)}` ended with status {result.status}: {result.error}"


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if rows:
        yield "| " + " | ".join(headings) + " |"
        yield "|" + "---|" * len(headings)
        for row in rows:
            yield "| " + " | ".join(row) + " |"


def _topology(results: Sequence[CheckResult]) -> Iterator[str]:
    for result in results:
        yield from _table(
            ("device", "details"),
            [
                (device["name"], ", ".join(f"{name} {value}" for name, value in sorted(device["details"].items())))
                for device in result.result["devices"]
            ],
        )
        yield ""
        yield from _table(
            ("GPUs", "peer access", "NVLinks", "PCIe paths meet at"),
            [
                (f"{link['first']} - {link['second']}", str(link["peer"]), str(link["nvlinks"]), link["ancestor"])
                for link in result.result["links"]
            ],
        )
        yield result.result["note"] or ""


def _parity(results: Sequence[CheckResult]) -> Iterator[str]:
    headings = ("workload", "replicas", "steps", "verdict", *(f"{stage}, largest difference" for stage in _STAGES))
    yield from _table(headings, [_parity_row(result) for result in results])


def _parity_row(result: CheckResult) -> list[str]:
    found = result.result
    differences = [found["stages"].get(stage) for stage in _STAGES]
    shown = ["-" if one is None else f"{one['max_rel']:.1e} ({one['max_ulp']} ulp)" for one in differences]
    return [result.check.workload, str(result.check.replicas), str(found["steps"]), found["verdict"], *shown]


def _speed(results: Sequence[CheckResult]) -> Iterator[str]:
    headings = ("workload", "replicas", "legacy examples/s", "modern examples/s", "modern/legacy, 95 %", "verdict")
    yield from _table(headings, [_speed_row(result) for result in results])


def _speed_row(result: CheckResult) -> list[str]:
    found = result.result
    first = [result.check.workload, str(result.check.replicas)]
    if "ratio" not in found:
        return [*first, "-", "-", "-", found["verdict"]]
    speeds = [f"{found['examples_per_second'][side]:,.0f}" for side in ("legacy", "modern")]
    return [*first, *speeds, ratio_text(ratio_from_json(found["ratio"])), found["verdict"]]


def _profile(results: Sequence[CheckResult]) -> Iterator[str]:
    headings = ("workload", "side", "ms a step", "products", "devices compute", "dispatch", "times the floor")
    rows = [
        _profile_row(result.check.workload, side, profile)
        for result in results
        for side, profile in result.result["sides"].items()
    ]
    yield from _table(headings, rows)


def _profile_row(workload: str, side: str, profile: Mapping[str, Any]) -> list[str]:
    means = [statistics.fmean(device[share] for device in profile["devices"]) for share in ("computing", "dispatch")]
    return [
        workload,
        side,
        f"{1e3 * profile['seconds']:.3f}",
        f"{profile['products_share']:.0%} of kernels",
        *[f"{mean:.0%}" for mean in means],
        ratio_text(ratio_from_json(profile["times_floor"])),
    ]


_PARTS: dict[str, Callable[[Sequence[CheckResult]], Iterator[str]]] = {
    gpu_checks.TOPOLOGY: _topology,
    gpu_checks.DETERMINISTIC_PARITY: _parity,
    gpu_checks.TF32_PARITY: _parity,
    gpu_checks.SPEED: _speed,
    gpu_checks.NCCL: _speed,
    gpu_checks.PROFILE: _profile,
}
