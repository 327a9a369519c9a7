"""Text of the page of `legacy.inspect`: its sections as tables and paragraphs of a limited width."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from legacy.saved.facts.basics.rows import NOT_ANALYSED, Row, Sections
from legacy.saved.report.alike_rows import fold_rows
from workloads.support.wording import listed

#: Lines of the page are no wider than this; longer cells go on in the next line.
WIDTH = 120
#: Columns that are cut to fit keep at least this width.
NARROWEST = 14
#: Columns that list names, and the most names that a cell of the page shows; JSON has all of them.
LISTS = ("of", "tensors")
MOST_NAMES = 6

#: In place of hazards where the graph could not be analysed and the few that need no analysis were not found.
NOT_SEARCHED = "not known: most of them need the analysis"

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
    "carried state": {"of": "weight", "changed by": "computed by"},
    "moving averages": {"of": "weight", "changed by": "computed by"},
    "devices": {"mostly": "most frequent op types"},
}


def page_lines(sections: Sections, most_rows: int) -> Iterator[str]:
    """Yields the page, line by line.

    Args:
      sections: {section: rows}; all rows of a section have the same columns.
      most_rows: of longer sections, rows that are alike become one, and only so many are shown.
    """
    for title, rows in sections.items():
        yield ""
        yield title.upper()
        if not rows:
            yield "  " + (NOT_SEARCHED if title == "hazards" and NOT_ANALYSED in sections else "none")
            continue
        if title == "hazards":
            yield from _hazard_lines(rows)
        else:
            yield from _section_lines(rows, HEADINGS.get(title, {}), most_rows)


def _section_lines(rows: list[Row], headings: dict[str, str], most_rows: int) -> Iterator[str]:
    """Lines of a section: all rows, or of more than `most_rows` one for those that are alike, and the first such."""
    if len(rows) <= most_rows:
        yield from _table(rows, headings)
        return
    folded = fold_rows(rows)
    shown, left_out = folded[:most_rows], sum(number for _, number in folded[most_rows:])
    numbered = any(number > 1 for _, number in shown)
    yield from _table([{**row, "rows": number} if numbered else row for row, number in shown], headings)
    if numbered:
        yield f"  * stands for different numbers, and `rows` for how many rows are alike; --rows={len(rows)} shows each"
    if left_out:
        yield f"  and {left_out} more (--rows, --json)"


def _hazard_lines(rows: list[Row]) -> Iterator[str]:
    """A hazard is a paragraph: its name and op, what it is, what to do."""
    for row in rows:
        yield f"  {row['hazard']}  {row['op']}"
        for column, heading in (("what", ""), ("in tf.distribute", "in tf.distribute: ")):
            yield from textwrap.wrap(heading + row[column], WIDTH, initial_indent="    ", subsequent_indent="      ")


def _table(rows: list[Row], headings: dict[str, str]) -> Iterator[str]:
    """Lines of a table; a section of plain sentences or of {"what": topic, "is": text} has no heading."""
    columns = list(rows[0])
    titles = [headings.get(column, column) for column in columns]
    cells = [[_cell(row, column, headings) for column in columns] for row in rows]
    shown = cells if columns[0] == "what" else [titles] + cells
    widths = _fitted([max(len(line[i]) for line in shown) for i in range(len(columns))])
    for line in shown:
        yield from _lines(line, widths)


def _cell(row: Row, column: str, headings: dict[str, str]) -> str:
    text = str(row[column])
    if column in LISTS:
        return _first_names(text)
    return headings.get(text, text) if column == "what" else text


def _first_names(text: str) -> str:
    """Returns a list of names, of which a long one is cut: a network has hundreds of variables.

    >>> _first_names("a, b, c, d, e, f, g, h")
    'a, b, c, d, e, f and 2 more (--json)'
    """
    names = text.split(", ")
    return listed(names, MOST_NAMES) + " (--json)" if len(names) > MOST_NAMES else text


def _fitted(widths: list[int]) -> list[int]:
    """Widths of columns whose lines are no wider than `WIDTH`: the widest columns are cut."""
    fitted = list(widths)
    while sum(fitted) + 2 * len(fitted) > WIDTH and max(fitted) > NARROWEST:
        fitted[fitted.index(max(fitted))] -= 1
    return fitted


def _lines(cells: list[str], widths: list[int]) -> Iterator[str]:
    """The lines of one row: a cell that is wider than its column goes on in the next line."""
    wrapped = [_wrapped(cell, width) for cell, width in zip(cells, widths)]
    for number in range(max(len(lines) for lines in wrapped)):
        parts = [lines[number] if number < len(lines) else "" for lines in wrapped]
        yield "  " + "  ".join(part.ljust(width) for part, width in zip(parts, widths)).rstrip()


def _wrapped(text: str, width: int) -> list[str]:
    """Wraps a text; names of nodes are broken behind a slash where possible."""
    spaced = text.replace("/", "/\0") if any(len(word) > width for word in text.split()) else text
    lines = textwrap.wrap(spaced.replace("\0", " "), width, break_on_hyphens=False) if "\0" in spaced else []
    if not lines:
        return textwrap.wrap(text, width, break_on_hyphens=False) or [""]
    return _without_spaces(text, lines)


def _without_spaces(text: str, lines: list[str]) -> list[str]:
    """Lines of a text in which spaces were put behind slashes, without these spaces."""
    result, position = [], 0
    for line in lines:
        length = len(line.replace("/ ", "/"))
        while position < len(text) and text[position] == " ":
            position += 1
        result.append(text[position : position + length])
        position += length
    return result
