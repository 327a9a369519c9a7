"""A tutorial: the fenced blocks of a Markdown page, run in order in one folder.

    ```shell                   commands, a line each; a line that is to fail ends with `# exit status 1`
    ```python title="mine.py"  the file mine.py
    ```python                  lines that stand so in a Python file of the folder
    ```                        is not looked at
    ```text                    lines that the commands of the last shell block print, in this order

In a text block `...` stands for anything, alone for any lines. Runs of spaces count as one, and a number with a decimal
point stands for any such number: machines round and time differently.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

from markdown_it import MarkdownIt

from tests import commands as project

ROOT = pathlib.Path(__file__).parents[2]
PAGES = ROOT / "docs" / "tutorials"

_ANY_NUMBER = r"[-+]?\d+\.\d+(?:e[-+]?\d+)?"
#: Parts of a shown line that are not compared letter by letter.
_LOOSE = re.compile(rf"(?P<any>\s*\.\.\.)|(?P<number>{_ANY_NUMBER})|(?P<space>\s+)")
_STATUS = re.compile(r"# exit status (\d+)$")
#: A line that is one of the project's commands, and nothing of the shell's.
_COMMAND = re.compile(r"python -m ((?:legacy|modern|parity)\.[\w./:=,\- ]+?)\s*(?:#.*)?")


class Block(NamedTuple):
    """A fenced block: its language, its title or "", its text, and the line of the page on which it begins."""

    language: str
    title: str
    text: str
    line: int


def blocks(page: str) -> list[Block]:
    """Returns the fenced blocks of a page, in order."""
    found = []
    for token in MarkdownIt().parse(page):
        if token.type == "fence":
            language, _, rest = token.info.partition(" ")
            title = re.search(r'title="([^"]*)"', rest)
            found.append(Block(language, title.group(1) if title else "", token.content, token.map[0] + 1))
    return found


def commands(text: str) -> Iterator[tuple[str, int]]:
    """Yields (command, expected exit status) of a shell block; a backslash continues a line."""
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip():
            status = _STATUS.search(line)
            yield line, int(status.group(1)) if status else 0


def first_missing(shown: str, output: str) -> str | None:
    """Returns the first line of a text block that the output lacks after those before it; None if it has them all."""
    lines = iter(output.splitlines())
    for line in shown.splitlines():
        if line.strip() not in ("", "..."):
            pattern = re.compile(_pattern(line.strip()))
            if not any(pattern.fullmatch(printed.strip()) for printed in lines):
                return line
    return None


def _pattern(line: str) -> str:
    pattern, end = "", 0
    for part in _LOOSE.finditer(line):
        pattern += re.escape(line[end : part.start()])
        pattern += {"any": ".*", "number": _ANY_NUMBER, "space": r"\s+"}[str(part.lastgroup)]
        end = part.end()
    return pattern + re.escape(line[end:])


class Failure(Exception):
    """Something that a page shows, and that is not so when it is run; the message begins with the page's line."""


def failure_of(path: pathlib.Path, folder: pathlib.Path) -> str | None:
    """Runs a page in an empty folder.

    Args:
      path: the page.
      folder: where its files and commands are.

    Returns:
      The first thing that is not as the page shows it, with the page's line; None if everything is.
    """
    try:
        _run_blocks(path, folder)
    except Failure as failure:
        return str(failure)
    return None


def _require(holds: bool, failure: str) -> None:
    if not holds:
        raise Failure(failure)


def _run_blocks(path: pathlib.Path, folder: pathlib.Path) -> None:
    output = ""
    for block in blocks(path.read_text(encoding="utf-8")):
        place = f"{path.name}:{block.line}"
        if block.language == "shell":
            output = "".join(run_line(command, status, folder, place) for command, status in commands(block.text))
        elif block.language == "python" and not block.title:
            files = [file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.py"))]
            _require(any(block.text in text for text in files), f"{place}: in no Python file")
        elif block.language == "python":
            (folder / block.title).write_text(block.text, encoding="utf-8")
        elif block.language:
            _require(block.language == "text", f"{place}: a block of {block.language!r}")
            missing = first_missing(block.text, output)
            _require(missing is None, f"{place}: not printed: {missing}\n--- printed:\n{output}")


def run_line(command: str, status: int, folder: pathlib.Path, place: str) -> str:
    """Runs one line of shell in the folder.

    Args:
      command: the line.
      status: exit status that it must have.
      folder: where it runs.
      place: of the line in its page, for the message.

    Returns:
      all that it prints, stderr first where it can tell.

    Raises:
      Failure: it has another exit status.
    """
    plain = _COMMAND.fullmatch(command)
    ended = project.run(*plain.group(1).split(), cwd=folder) if plain else _run_in_shell(command, folder)
    _require(
        ended.returncode == status,
        f"{place}: {command}: exit status {ended.returncode}\n{ended.stderr}{ended.stdout}",
    )
    return (ended.stderr or "") + ended.stdout


def _run_in_shell(command: str, folder: pathlib.Path) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
    places = {"PATH": (str(pathlib.Path(sys.executable).parent), kept["PATH"]), "PYTHONPATH": (str(ROOT),)}
    environment = {**kept, **{name: os.pathsep.join(each) for name, each in places.items()}, "TOWER_PARITY": str(ROOT)}
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
