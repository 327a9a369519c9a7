"""Renders tables of the reports as plain rows of text."""

from __future__ import annotations

from rich.table import Table


def headings(table: Table) -> list[str]:
    """Returns the table's headings."""
    return [str(column.header) for column in table.columns]


def rows(table: Table) -> list[tuple[str, ...]]:
    """Returns the cells, row by row, with their colours as markup."""
    return list(zip(*[map(str, column.cells) for column in table.columns]))
