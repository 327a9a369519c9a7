"""The table of `python -m parity`: each workload's parity and speed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

from parity.speed.names import LEGACY, MODERN, ONE_DEVICE
from parity.speed.ratio import ratio_from_json, ratio_text
from workloads.support.wording import counted

#: One entry of the JSON of `parity.benchmark`.
Speed = Mapping[str, Any]


def workloads_table(results: Mapping[str, Sequence[Mapping[str, Any]]]) -> Table:
    """Returns a table with a row per workload and input: whether the sides are equal, and how fast they are.

    Args:
      results: {"verify": [...], "benchmark": [...]}, the JSON of the commands `parity.verify` and `parity.benchmark`
        for each workload.
    """
    table = Table(title="the old way (towers in a session) and the new way (tf.distribute)", title_justify="left")
    others = _other_names(results["benchmark"])
    for heading in ("workload", "replicas x batch", "parity", "input"):
        table.add_column(heading, overflow="fold")
    for heading in ("legacy\nexamples/s", "modern\nexamples/s", "modern/legacy,\n95 %"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("speed", no_wrap=True)
    for name in (ONE_DEVICE, *others):
        table.add_column(f"{escape(name)}/\nmodern, 95 %", justify="right", no_wrap=True)
    machine = _predicted_machine(results["benchmark"])
    if machine:
        table.add_column(f"predicted on {escape(machine)},\nlegacy | modern examples/s", justify="right", no_wrap=True)
    speeds = {entry["workload"]: entry for entry in results["benchmark"]}
    for entry in results["verify"]:
        speed = speeds[entry["workload"]]
        for number, row in enumerate(_workload_rows(entry, speed, others)):
            table.add_row(*row, *([_predicted_cell(speed) if number == 0 else ""] if machine else []))
    return table


def _predicted_machine(benchmarks: Sequence[Speed]) -> str:
    """Name of the machine that the speeds are predicted for; "" if they are not."""
    return next((entry["predicted"]["machine"] for entry in benchmarks if "predicted" in entry), "")


def _predicted_cell(speed: Speed) -> str:
    """Examples a second of both sides on the machine that they are predicted for."""
    sides = speed["predicted"]["sides"]
    return " | ".join(f"{sides[side]['examples_per_second']:,.0f}" for side in (LEGACY, MODERN))


def _other_names(benchmarks: Sequence[Speed]) -> list[str]:
    """Names of the programs that are not the project's own, in order."""
    names = [contestant["name"] for entry in benchmarks for contestant in entry.get("contestants", [])]
    return [name for name in dict.fromkeys(names) if name not in (LEGACY, MODERN, ONE_DEVICE)]


def _workload_rows(verified: Mapping[str, Any], speed: Speed, others: Sequence[str]) -> Iterator[list[str]]:
    replicas, global_batch = int(verified["job"]["replicas"]), int(verified["job"]["global_batch"])
    start = [escape(verified["workload"]), f"{replicas} x {global_batch // replicas}", _parity_text(verified)]
    if "ratios" not in speed:
        yield [*start, *["-"] * 4, speed["verdict"], *["-"] * (1 + len(others))]
        return
    timed = {(contestant["name"], contestant["input"]): contestant for contestant in speed["contestants"]}
    for kind, ratio in speed["ratios"].items():
        rates = [f"{timed[side, kind]['examples_per_second']:,.0f}" for side in (LEGACY, MODERN)]
        beside = [_ratio_cell(timed.get((name, kind))) for name in (ONE_DEVICE, *others)]
        yield [*start, kind, *rates, ratio_text(ratio_from_json(ratio)), speed["verdicts"][kind], *beside]
        start = ["", "", ""]


def _ratio_cell(contestant: Mapping[str, Any] | None) -> str:
    """The ratio of a program to the port; why there is none, in a word."""
    if contestant is None:
        return "-"
    ratio = contestant.get("ratio")
    return ratio_text(ratio_from_json(ratio)) if ratio or not contestant["problem"] else "[red]failed[/]"


def _parity_text(verified: Mapping[str, Any]) -> str:
    if verified["verdict"] != "parity":
        return "[red]NO[/]"
    rule = "identical bits" if verified["tolerance"] == "exact" else "within rounding"
    steps = counted(verified["steps"], "step")
    return f"[green]{steps}, {rule}[/]"
