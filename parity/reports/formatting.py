"""Elements that all reports share: the console that tables are printed to, and numbers in few characters."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console

#: Columns of a table that is written to a file or a pipe.
WIDTH = 160


def make_console() -> Console:
    """Returns a console on stdout, as wide as the terminal, or `WIDTH` columns where there is none."""
    return Console(width=None if Console().is_terminal else WIDTH)


def print_plain_lines(console: Console, lines: Iterable[str]) -> None:
    """Prints lines as they are: without colours for numbers, and with brackets that are no markup."""
    for line in lines:
        console.print(line, highlight=False, markup=False)


def format_number(value: float | None) -> str:
    """Returns a measurement in few characters.

    >>> format_number(None), format_number(0.0), format_number(3), format_number(1.25e-7)
    ('-', '0', '3', '1.2e-07')
    """
    if value is None:
        return "-"
    if isinstance(value, int) or value == 0:
        return str(int(value))
    return f"{value:.2g}"
