"""Page of `legacy.inspect`: the facts and hazards of a saved graph, as rows for JSON and as lines of text."""

from __future__ import annotations

import collections
import os
import shlex
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Tuple

from legacy.saved.analysis import analyse
from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.rows import ASSUMED, NOT_ANALYSED, Row, Sections
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.facts.program_facts import program_facts
from legacy.saved.facts.whole_facts import whole_facts
from legacy.saved.graph import graph_file
from legacy.saved.graph.layout import as_requested, channels_first
from legacy.saved.graph.sync_replicas import with_own_gradients
from legacy.saved.hazards.search import find_hazards
from legacy.saved.report.alike_rows import fold_rows
from legacy.saved.report.next_step import layout_rows, next_rows
from legacy.saved.runs.fed_inputs import with_fed_inputs
from legacy.saved.runs.recorded_feeds import carry_flag
from legacy.saved.runs.recorded_runs import Ran, ran_in_recording
from legacy.saved.runs.recorded_switches import recorded_switches
from legacy.saved.runs.train_ops import TrainOpError
from workloads.support.errors import InputError
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


def inspect_graph(
    path: str,
    train_op: Sequence[str] = (),
    feed: Mapping[str, str] | None = None,
    beside: Sequence[str] = (),
    layout: str | None = None,
) -> Sections:
    """Reads and describes a saved graph.

    Args:
      path: the graph file.
      train_op: names of the train ops, or empty for those of the recording beside the graph, or to find the one; of
        several, the page assumes that they take turns.
      feed: {placeholder: text of its value} of settings that are the same in every step; booleans that it lacks are
        those of the recording beside the graph, if there is one.
      beside: names of ops that each step ran beside the train op.
      layout: "NHWC" to rewrite what is computed in NCHW; None leaves the graph as it is.

    Returns:
      {section: rows}: those of `program_facts`, "hazards" and "next", and before them what was assumed of the train
      ops (`ASSUMED`), if anything; of a graph that cannot be analysed, the reason (`NOT_ANALYSED`), those of
      `whole_facts`, "hazards" and "next".

    Raises:
      InputError: the file holds no graph, or one that cannot be analysed, has no hazards and trains nothing.
    """
    saved = as_requested(with_own_gradients(with_fed_inputs(graph_file.read_graph_file(path))), layout)
    recorded = recorded_switches(saved)
    feed = {**recorded, **(feed or {})}

    def analysed(ran: Ran) -> Analysis:
        return analyse.analyse_graph(saved, os.path.basename(path), ran.train_op, feed, beside=ran.beside)

    ran_by_itself = Ran()  # what the lift finds if no flag names it, and many names would hide the rest of the command
    try:
        if train_op or beside:
            ran, assumed = Ran(train_op, beside), ""
            found = analysed(ran)
        else:
            recorded_run = ran_in_recording(saved, feed)
            ran_by_itself = recorded_run if recorded_run.is_long else ran_by_itself
            found, ran, assumed = _with_likely_runs(analysed, recorded_run)
    except InputError as error:
        return _sections_without_analysis(saved, error)
    assumptions = [assumed] if assumed else []
    assumptions += [
        f"{name} is {value}, as in the recording beside the graph; --feed={name}=... overrides that"
        for name, value in recorded.items()
        if feed[name] == value
    ]
    sections: Sections = collections.OrderedDict()
    if assumptions:
        sections[ASSUMED] = [{"what": text} for text in assumptions]
    sections.update(program_facts(saved, found))
    sections["hazards"] = find_hazards(saved, found)
    flags = [] if ran == ran_by_itself else ran.flags()
    flags += ["--feed=" + ",".join(f"{name}={value}" for name, value in feed.items())] if feed else []
    flags += [f"--layout={layout}"] if layout else []
    rows = next_rows(found.plan, path, [*flags, *carry_flag(found.fed)])
    sections["next"] = rows + layout_rows(len(channels_first(found.cut.graph)))
    return sections


def _with_likely_runs(analysed: Callable[[Ran], Analysis], recorded: Ran) -> Tuple[Analysis, Ran, str]:
    """Analyses a graph whose train ops were not named: those of its recording, the one there is, or those likely.

    Args:
      analysed: returns the analysis of the steps that some runs make.
      recorded: what the recording beside the graph ran; empty without one, or where the graph suggests the same.

    Returns:
      The analysis, the runs, and a sentence that says what was assumed; "" if nothing was.

    Raises:
      InputError: what `analysed` raises for the runs of the recording, or for the one train op.
    """
    if recorded.train_op:
        text = f"the program runs {recorded.describe()}, as in the recording beside the graph; --train_op names others"
        return analysed(recorded), recorded, text
    try:
        return analysed(Ran()), Ran(), ""
    except TrainOpError as error:
        if not error.likely:
            raise
        likely = Ran(error.likely)
        try:
            found = analysed(likely)
        except InputError:
            raise error from None
        return found, likely, f"the program runs {likely.describe()}; if not, name its train ops with --train_op"


def _sections_without_analysis(saved: graph_file.SavedGraph, error: InputError) -> Sections:
    """Sections of a graph that cannot be analysed: the reason, and all that is known without an analysis."""
    whole = WholeGraph(saved)
    rows = find_hazards(saved)
    if not rows and not whole.applies:
        raise error
    sections: Sections = collections.OrderedDict([(NOT_ANALYSED, [{"what": str(error)}])])
    sections.update(whole_facts(saved, whole))
    sections["hazards"] = rows
    sections["next"] = [{"what": "can be lifted", "is": f"no: {error}"}]
    if isinstance(error, TrainOpError):
        command = " ".join(map(shlex.quote, ["python", "-m", "legacy.inspect", saved.path, "--train_op=NAME"]))
        sections["next"].append({"what": "next command", "is": command})
    return sections


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
