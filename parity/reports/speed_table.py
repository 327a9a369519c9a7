"""The table of `parity.benchmark`: every program with every input, and its speed beside the port's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.markup import escape
from rich.table import Table

from parity.speed.ratio import ratio_from_json, ratio_text


def speed_table(result: Mapping[str, Any]) -> Table:
    """Returns a table with one row per program and input.

    Args:
      result: the JSON of `parity.benchmark`, with speeds.
    """
    batch = result["job"]["global_batch"]
    title = f"{result['workload']}, batch {batch}: speed relative to the port's with the same input"
    table = Table(title=title, title_justify="left")
    for heading in ("program", "input"):
        table.add_column(heading, overflow="fold")
    for heading in ("examples/s", "of the port's speed, 95 %"):
        table.add_column(heading, justify="right")
    table.add_column("remarks", overflow="fold")
    for contestant in result["contestants"]:
        table.add_row(*_row(contestant))
    return table


def _row(contestant: Mapping[str, Any]) -> list[str]:
    remarks = contestant["problem"] or contestant["note"]
    return [
        escape(contestant["name"]),
        contestant["input"],
        f"{contestant['examples_per_second']:,.0f}" if "examples_per_second" in contestant else "-",
        ratio_text(ratio_from_json(contestant.get("ratio"))),
        escape(remarks),
    ]
