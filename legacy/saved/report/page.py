"""Page of `legacy.inspect`: the facts and hazards of a saved graph, as rows for JSON and as lines of text."""

from __future__ import annotations

import collections
import os
from collections.abc import Iterator, Sequence

from legacy.saved.analysis import analyse
from legacy.saved.graph import graph_file
from legacy.saved.report import facts, hazards
from legacy.saved.report.facts import Row, Sections
from workloads.support.errors import InputError

#: Columns are no wider than this; longer cells run over.
WIDEST = 70

#: Headings of columns, and of topics in the column "what", whose name in JSON is terse: {section: {name: heading}}.
HEADINGS = {
    "program": {"settings fixed": "fixed settings"},
    "towers": {"told apart by": "recognised by", "batch of one": "batch per tower"},
    "inputs": {"enters by": "source", "tensors": "entry tensors"},
    "random numbers": {"of": "tower", "in a port": "reproduced"},
    "losses": {"term": "tensor", "is": "description"},
    "combining": {"are": "combined by", "by": "ops", "of": "variables"},
    "learning rates": {"is": "description", "values": "values by step"},
    "statistics": {"of": "weight", "changed by": "computed by"},
    "moving averages": {"of": "weight", "changed by": "computed by"},
    "devices": {"mostly": "most frequent op types"},
    "hazards": {"what": "description"},
}


def inspect_graph(path: str, train_op: Sequence[str] = (), feed: dict[str, str] | None = None) -> Sections:
    """Reads and describes a saved graph.

    Args:
      path: the graph file.
      train_op: names of the train ops, or empty to find the one.
      feed: {placeholder: text of its value} of settings that are the same in every step.

    Returns:
      {section: rows}: those of `facts.program_facts` and "hazards"; of a graph that cannot be analysed, the reason
      ("not taken apart") and "hazards".

    Raises:
      InputError: the file holds no graph, or one that cannot be analysed and has no hazards either.
    """
    saved = graph_file.read_graph_file(path)
    try:
        found = analyse.analyse_graph(saved, os.path.basename(path), train_op, feed)
    except InputError as error:
        rows = hazards.find_hazards(saved)
        if not rows:
            raise
        return collections.OrderedDict([("not taken apart", [{"what": str(error)}]), ("hazards", rows)])
    sections = facts.program_facts(saved, found)
    sections["hazards"] = hazards.find_hazards(saved, found)
    return sections


def page_lines(sections: Sections, most_rows: int) -> Iterator[str]:
    """Yields the page, line by line.

    Args:
      sections: {section: rows}; all rows of a section have the same columns.
      most_rows: of longer sections, only so many rows are shown.
    """
    for title, rows in sections.items():
        yield ""
        yield title.upper()
        if not rows:
            yield "  none"
            continue
        yield from _table(rows[:most_rows], HEADINGS.get(title, {}))
        if len(rows) > most_rows:
            yield f"  and {len(rows) - most_rows} more (--rows, --json)"


def _table(rows: list[Row], headings: dict[str, str]) -> Iterator[str]:
    """Lines of a table; a section of plain sentences or of {"what": topic, "is": text} has no heading."""
    columns = list(rows[0])
    titles = [headings.get(column, column) for column in columns]
    cells = [[_cell(row, column, headings) for column in columns] for row in rows]
    widths = [min(WIDEST, max(len(line[i]) for line in cells + [titles])) for i in range(len(columns))]
    if len(columns) > 1 and columns[0] != "what":
        yield _line(titles, widths)
    for line in cells:
        yield _line(line, widths)


def _cell(row: Row, column: str, headings: dict[str, str]) -> str:
    text = str(row[column])
    return headings.get(text, text) if column == "what" else text


def _line(cells: list[str], widths: list[int]) -> str:
    return "  " + "  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip()
