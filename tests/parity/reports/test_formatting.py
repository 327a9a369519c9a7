"""Numbers in few characters, and the console."""

import io

import pytest
from rich.console import Console

from parity.reports import formatting


@pytest.mark.parametrize(
    "value, text",
    [
        (None, "-"),
        (0, "0"),
        (0.0, "0"),
        (3, "3"),
        (12345, "12345"),
        (0.25, "0.25"),
        (2.0, "2"),
        (1.25e-7, "1.2e-07"),
        (float("inf"), "inf"),
    ],
)
def test_numbers(value, text):
    assert formatting.format_number(value) == text


def test_a_console_without_a_terminal_has_a_fixed_width(capsys):
    console = formatting.make_console()
    assert console.width == formatting.WIDTH
    console.print("x" * 200)
    assert [len(line) for line in capsys.readouterr().out.splitlines()] == [formatting.WIDTH, 40]


def test_plain_lines_keep_their_brackets():
    out = io.StringIO()
    formatting.print_plain_lines(Console(file=out, width=80), ["w[0,1] is [bold]", "second"])
    assert out.getvalue() == "w[0,1] is [bold]\nsecond\n"
