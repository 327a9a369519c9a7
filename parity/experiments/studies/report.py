"""`Report`: the results of a study, and its page as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

#: What every study that times logical devices of a CPU cannot show.
NO_GPU = (
    "No GPU was used. The devices are logical devices of one CPU, which share its cores and its memory: a second "
    "device adds no arithmetic, and a copy between devices crosses no bus."
)

#: How times and speeds of all studies are to be read.
ROUNDS = (
    "Each alternative runs in a process of its own; they take turns in blocks, every second round in reverse order. "
    "Speeds are medians of the ratios within two such rounds, with a 95 % bootstrap interval."
)


def text_below_title(docstring: str | None) -> str:
    """Returns the sentences of a study's docstring after its first line, as one paragraph.

    >>> text_below_title("Does it scale?\\n\\nBatches are\\nresident.")
    'Batches are resident.'
    """
    return " ".join((docstring or "").partition("\n")[2].split())


class Table(NamedTuple):
    """A table of a report.

    Attributes:
      title: one line.
      headings: of the columns.
      rows: of texts, as many as there are headings.
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]

    def lines(self) -> Iterator[str]:
        """Yields the table as Markdown."""
        yield f"## {self.title}"
        yield ""
        yield "| " + " | ".join(self.headings) + " |"
        yield "|" + "---|" * len(self.headings)
        for row in self.rows:
            yield "| " + " | ".join(row) + " |"


class Report(NamedTuple):
    """The result of a study.

    Attributes:
      answer: one sentence with numbers and intervals.
      findings: what else was found, a sentence or two each.
      tables: the measurements.
      method: how they were taken, in sentences.
      limits: what they cannot show, one sentence or more each.
      content: all figures, for `--json`.
    """

    answer: str
    findings: Sequence[str]
    tables: Sequence[Table]
    method: str
    limits: Sequence[str]
    content: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Returns the report for `--json`."""
        return {"answer": self.answer, "findings": list(self.findings), "limits": list(self.limits), **self.content}


def report_lines(question: str, report: Report, closing: Sequence[str]) -> Iterator[str]:
    """Yields the page of a study line by line.

    Args:
      question: the study's.
      report: its result.
      closing: last lines, such as the command and the machine.

    Yields:
      lines of Markdown.
    """
    yield f"# {question}"
    yield ""
    yield report.answer
    yield from ("", "## Findings", "")
    yield from (f"- {finding}" for finding in report.findings)
    for table in report.tables:
        yield ""
        yield from table.lines()
    yield from ("", "## How it was measured", "", report.method)
    yield from ("", "## What this cannot show", "")
    yield from (f"- {limit}" for limit in report.limits)
    yield ""
    yield from closing
