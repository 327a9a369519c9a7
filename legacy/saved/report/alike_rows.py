"""Shortens a long table: rows that are equal but for numbers in their names, such as conv1 and conv2, become one."""

from __future__ import annotations

import collections
import re

from legacy.saved.facts.basics.rows import Row

#: Columns that hold the name of a node or a variable.
NAMES = ("name", "variable", "of", "tensor", "term")
#: So many rows at least become one; two stay apart, such as beta1_power and beta2_power.
FEWEST = 3
_NUMBER = re.compile(r"\d+")


def fold_rows(rows: list[Row]) -> list[tuple[Row, int]]:
    """Returns (row, number of rows that it stands for), each in the place of the first of them.

    Names of several rows have `*` where the rows have different numbers. Rows are alike if all columns besides `NAMES`
    are equal, and these are equal but for numbers.

    >>> fold_rows([{"name": f"conv{i}/w", "shape": "[3]"} for i in (1, 2, 3)] + [{"name": "conv4/w", "shape": "[4]"}])
    [({'name': 'conv*/w', 'shape': '[3]'}, 3), ({'name': 'conv4/w', 'shape': '[4]'}, 1)]
    """
    alike: dict[tuple[str, ...], list[Row]] = collections.defaultdict(list)
    for row in rows:
        alike[_outline(row)].append(row)
    folded = []
    for row in rows:
        group = alike[_outline(row)]
        if len(group) < FEWEST:
            folded.append((row, 1))
        elif row is group[0]:
            folded.append((_common(group), len(group)))
    return folded


def _outline(row: Row) -> tuple[str, ...]:
    """A key that is equal for rows that become one."""
    return tuple(_NUMBER.sub("*", str(cell)) if column in NAMES else str(cell) for column, cell in row.items())


def _common(rows: list[Row]) -> Row:
    """The first of some rows, with `*` for each number in its names that differs between the rows."""
    return {c: _common_name([str(row[c]) for row in rows]) if c in NAMES else cell for c, cell in rows[0].items()}


def _common_name(names: list[str]) -> str:
    """The first of some names, with `*` for each number in which they differ.

    >>> _common_name(["tower_0/conv1/w", "tower_0/conv2/w"])
    'tower_0/conv*/w'
    """
    numbers = list(zip(*[_NUMBER.findall(name) for name in names]))
    common = iter([found[0] if len(set(found)) == 1 else "*" for found in numbers])
    return _NUMBER.sub(lambda _: next(common), names[0])
