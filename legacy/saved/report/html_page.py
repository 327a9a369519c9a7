"""The page of `legacy.inspect --report`: whether the graph can be lifted, its hazards, then its facts."""

from __future__ import annotations

from typing import List

from legacy.saved.facts.basics.rows import ASSUMED, NOT_ANALYSED, Row, Sections
from legacy.saved.report.page_text import HEADINGS, NOT_SEARCHED
from workloads.html import page as html
from workloads.support.wording import counted

#: Rows of a section that are shown; the JSON has all.
MOST_ROWS = 200


def inspection_page(path: str, sections: Sections) -> str:
    """Returns the page of a saved graph.

    Args:
      path: the graph file.
      sections: of `page.inspect_graph`.

    Returns:
      the HTML document.
    """
    rows = sections.get("hazards", [])
    number = counted(len(rows), "hazard")
    answer = next((str(row["is"]) for row in sections["next"] if row["what"] == "can be lifted"), "no")
    open_questions = rows or answer != "yes" or ASSUMED in sections
    mood = "bad" if NOT_ANALYSED in sections else "open" if open_questions else "good"
    none = f"{NOT_SEARCHED[0].upper()}{NOT_SEARCHED[1:]}." if NOT_ANALYSED in sections else "None was found."
    facts = [title for title in sections if title not in ("next", "hazards")]
    blocks = [
        html.Section("Next", [_rows("next", sections["next"])]),
        html.Section("Hazards of a port", [_hazard(row) for row in rows] or [html.paragraph(none)]),
        *(html.Section(title.capitalize(), [_rows(title, sections[title])]) for title in facts if sections[title]),
    ]
    return html.page(path, f"Can be lifted: {answer}; {number}", mood, blocks)


def _hazard(row: Row) -> str:
    details = [("at", row["op"]), ("in tf.distribute", row["in tf.distribute"])]
    return html.cause(row["hazard"], row["what"], details)


def _rows(title: str, rows: List[Row]) -> str:
    """A section as a table; one of plain sentences as a list."""
    headings = HEADINGS.get(title, {})
    columns = list(rows[0])
    if columns == ["what"]:
        return html.listing([str(row["what"]) for row in rows[:MOST_ROWS]])
    shown = [[headings.get(str(row[column]), row[column]) for column in columns] for row in rows[:MOST_ROWS]]
    left_out = len(rows) - MOST_ROWS
    more = html.paragraph(f"and {left_out} more, see --json") if left_out > 0 else ""
    titles = ["", ""] if columns == ["what", "is"] else [headings.get(column, column) for column in columns]
    return html.table(titles, shown) + more
