"""The table of `python -m parity`: each workload's parity and speed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table


def workloads_table(results: Mapping[str, Sequence[Mapping[str, Any]]]) -> Table:
    """Returns a table with one row per workload: whether the sides are equal, and how fast they are.

    Args:
      results: {"verify": [...], "benchmark": [...]}, the JSON of the commands `parity.verify` and `parity.benchmark`
        for each workload.
    """
    table = Table(title="the old way (towers in a session) and the new way (tf.distribute)", title_justify="left")
    for heading in ("workload", "replicas x batch", "parity"):
        table.add_column(heading, overflow="fold")
    for heading in ("legacy examples/s", "modern examples/s", "modern/legacy, 95 %"):
        table.add_column(heading, justify="right")
    table.add_column("speed")
    speeds = {entry["workload"]: entry for entry in results["benchmark"]}
    for entry in results["verify"]:
        table.add_row(*_workload_row(entry, speeds[entry["workload"]]))
    return table


def _workload_row(verified: Mapping[str, Any], speed: Mapping[str, Any]) -> list[str]:
    replicas, global_batch = int(verified["job"]["replicas"]), int(verified["job"]["global_batch"])
    rates = speed.get("examples_per_second", {})
    return [
        verified["workload"],
        f"{replicas} x {global_batch // replicas}",
        _parity_text(verified),
        *[f"{rates[side]:,.0f}" if rates else "-" for side in ("legacy", "modern")],
        "{median:.2f} [{low:.2f}, {high:.2f}]".format(**speed["ratio"]) if rates else "-",
        speed["verdict"],
    ]


def _parity_text(verified: Mapping[str, Any]) -> str:
    if verified["verdict"] != "parity":
        return "[red]NO[/]"
    rule = "identical bits" if verified["tolerance"] == "exact" else "within rounding"
    return f"[green]{verified['steps']} steps, {rule}[/]"
