"""Terms of a list that are alike, such as the penalties on all weights: one term, and a table of what differs."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, List, NamedTuple, Sequence, Tuple

from legacy.source.basics.expressions import Listing, Literal, Name, calls, replace
from legacy.source.basics.rendering import expression_text, literal_text
from legacy.source.lines.holes import Hole, skeleton, with_holes
from legacy.source.lines.naming import free_name

if TYPE_CHECKING:
    from typing import Collection

    from legacy.source.basics.expressions import Expression

#: So many terms that are alike are one with a table; fewer are written out.
LEAST = 3
_PENALTY = "tf.nn.l2_loss"


class Table(NamedTuple):
    """The literals in which terms that are alike differ.

    Attributes:
      name: of the table in the text.
      content: list of the values, or {name of a variable: number}.
    """

    name: str
    content: Any


class _Run(NamedTuple):
    """Items of a list, one after the other, that are alike.

    Attributes:
      items: the items.
      varied: numbers of the holes that differ between them.
    """

    items: Sequence[Expression]
    varied: List[int]


def with_repeated_terms(
    expression: Expression, taken: Collection[str], as_tables: bool
) -> Tuple[Expression, List[Table]]:
    """Replaces terms of lists that are alike by one for all of them.

    Args:
      expression: has names in place of values.
      taken: names that no table and no loop may have.
      as_tables: whether tables have names, and stand in lines before the expression, or stand inside it.

    Returns:
      The expression, and its tables.
    """
    tables: List[Table] = []

    def of_list(part: Expression) -> Expression | None:
        if not isinstance(part, Listing) or len(part.items) < LEAST:
            return None
        items: List[Expression] = []
        for run in _runs(part.items):
            if run.varied and len(run.items) >= LEAST and not {"name", "factor"} & set(taken):
                whole = len(run.items) == len(part.items)
                table = _table(run, [*taken, *(table.name for table in tables)])
                known = next((other for other in tables if other.content == table.content), None)
                items.append(_generator(run, known or table, as_tables, whole))
                tables.extend([table] if as_tables and known is None else [])
                if whole:
                    return items[0]
            else:
                items += run.items
        return Listing(tuple(items))

    return replace(expression, of_list), tables


def _runs(items: Sequence[Expression]) -> List[_Run]:
    """Divides a list into runs of items that differ in one or two literals; any other item is a run of its own."""
    runs: List[_Run] = []
    for _, same in itertools.groupby(items, key=lambda item: skeleton(item)[0]):
        group = list(same)
        holes = [skeleton(item)[1] for item in group]
        columns = list(zip(*holes))
        varied = [number for number, column in enumerate(columns) if any(hole != column[0] for hole in column)]
        if 1 <= len(varied) <= 2 and all(_is_literal(hole) for number in varied for hole in columns[number]):
            runs.append(_Run(group, varied))
        else:
            runs += [_Run([item], []) for item in group]
    return runs


def _is_literal(hole: Hole) -> bool:
    return isinstance(hole.content, Literal)


def _table(run: _Run, taken: Sequence[str]) -> Table:
    """Returns a run's table, with a name that says what it holds."""
    rows = [[skeleton(item)[1][number].content.value for number in run.varied] for item in run.items]
    keys = [row[0] for row in rows]
    penalties = any(part.function == _PENALTY for part in calls(run.items[0]))
    content: Any = keys
    if len(run.varied) == 2:
        content = dict(rows) if all(isinstance(key, str) for key in keys) and len(set(keys)) == len(keys) else rows
    wanted = ("weight_decay" if len(run.varied) == 2 else "decayed") if penalties else "terms"
    return Table(free_name(wanted, taken), content)


def _generator(run: _Run, table: Table, as_tables: bool, whole: bool) -> Expression:
    """Returns the terms of a run as a comprehension, or as an item of a list that has others too."""
    contents = [hole.content for hole in skeleton(run.items[0])[1]]
    loop = ["name" if isinstance(contents[number].value, str) else "factor" for number in run.varied]
    loop = loop if len(set(loop)) == len(loop) else ["name", "factor"]
    for number, name in zip(run.varied, loop):
        contents[number] = Name(name)
    over = table.name if as_tables else literal_text(table.content)
    if isinstance(table.content, dict):
        over += ".items()"
    text = f"{expression_text(with_holes(run.items[0], contents))} for {', '.join(loop)} in {over}"
    return Name(f"[{text}]" if whole else f"*({text})")
