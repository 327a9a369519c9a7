"""Commands in README and docs: each exists and has the flags that are written there."""

import functools
import pathlib
import re

import pytest

from parity.subcommands import SUBCOMMANDS
from tests import commands

ROOT = pathlib.Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

#: Flags of other programs: pytest, the version matrix, and the file that `legacy.lift --style=standalone` writes.
FOREIGN = {"parity-report", "pythons", "tensorflows", "help"}

_COMMAND = re.compile(r"python -m ((?:legacy|modern|parity)(?:\.\w+)*)([^`|\n]*)")
_FLAG = re.compile(r"(?<![\w-])--([a-z][\w-]*)")


def documented(text):
    """{module: flags} of the commands in a page."""
    found = {}
    for module, arguments in _COMMAND.findall(text.replace("\\\n", " ")):
        found.setdefault(module, set()).update(_FLAG.findall(arguments.partition(" #")[0]))
    return found


@functools.cache
def flags_of(module):
    """The flags that a command's `--help` lists, and "no" before those of booleans."""
    process = commands.run(module, "--help")
    assert process.returncode == 0, f"{module}: {process.stderr}"
    listed = re.findall(r"^  --(\[no\])?(\w+)$", process.stdout, re.MULTILINE)
    return {name for _, name in listed} | {"no" + name for negated, name in listed if negated}


ALL = {}
for page in PAGES:
    for name, given in documented(page.read_text(encoding="utf-8")).items():
        ALL.setdefault(name, set()).update(given)


@pytest.mark.parametrize("module", sorted(ALL))
def test_a_documented_command_has_its_flags(module):
    assert ALL[module] - flags_of(module) - FOREIGN == set()


def test_a_flag_that_does_not_exist_is_noticed():
    page = (
        "`python -m parity.doctor --json=a.json --jsn` and\n    python -m parity.doctor \\\n --no_such  # --comment\n"
    )
    assert documented(page) == {"parity.doctor": {"json", "jsn", "no_such"}}
    assert documented(page)["parity.doctor"] - flags_of("parity.doctor") == {"jsn", "no_such"}


def test_every_flag_in_the_pages_is_one_of_some_command():
    known = set().union(*(flags_of(subcommand.module) for subcommand in SUBCOMMANDS)) | flags_of("parity")
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES if "gallery" not in page.parts)
    inline = {flag for code in re.findall(r"`([^`\n]+)`", text) for flag in _FLAG.findall(code)}
    assert len(inline) > 50 and inline - known - FOREIGN == set()


def test_every_make_target_in_the_pages_exists():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        named = {target for line in re.findall(r"^make ([\w -]+)", text, re.MULTILINE) for target in line.split()}
        named |= {target for line in re.findall(r"`make ([\w -]+)`", text) for target in line.split()}
        assert named <= targets, page
