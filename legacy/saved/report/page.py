"""What a saved program is, on a page."""

from __future__ import annotations

import collections
import os

from legacy.saved.analysis import analyse
from legacy.saved.graph import graph_file
from legacy.saved.report import facts, hazards
from workloads.support.errors import InputError

WIDEST = 70


def inspect(path, train_op=(), feed=None):
    """{section: rows}, see `facts.facts`; the last is `hazards.find`'s, and may be all that can be told.

    Raises:
      InputError: the file holds no graph that trains.
    """
    saved = graph_file.read_graph_file(path)
    try:
        found = analyse.analyse_graph(saved, os.path.basename(path), train_op, feed)
    except InputError as error:
        rows = hazards.find(saved)
        if not rows:
            raise
        return collections.OrderedDict([("not taken apart", [{"what": str(error)}]), ("hazards", rows)])
    sections = facts.facts(saved, found)
    sections["hazards"] = hazards.find(saved, found)
    return sections


def text(sections, most_rows):
    """The page, line by line."""
    for title, rows in sections.items():
        yield ""
        yield title.upper()
        if not rows:
            yield "  none"
            continue
        columns = list(rows[0])
        cells = [[str(row[column]) for column in columns] for row in rows[:most_rows]]
        widths = [min(WIDEST, max(len(row[i]) for row in cells + [columns])) for i in range(len(columns))]
        if len(columns) > 1 and columns[0] != "what":
            yield "  " + "  ".join(column.ljust(width) for column, width in zip(columns, widths)).rstrip()
        for row in cells:
            yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
        if len(rows) > most_rows:
            yield f"  and {len(rows) - most_rows} more (--rows, --json)"
