"""Every tutorial does what it says, in an empty folder."""

import pytest

from tests.tutorials.page import PAGES, ROOT, blocks, commands, failure_of, run_line

#: Pages that `make test` runs; the others take longer and are run by `make test-slow`.
QUICK = ("migrate.md", "workload.md")
NAMES = sorted(path.name for path in PAGES.glob("*.md") if path.name != "README.md")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in NAMES]
)
def test_a_tutorial(name, tmp_path):
    assert failure_of(PAGES / name, tmp_path) is None


def test_the_readme_begins_with_commands_that_run(tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    page = blocks((ROOT / "README.md").read_text(encoding="utf-8"))
    (text,) = (block.text for block in page if "legacy.inspect $old" in block.text)
    (assignment, _), *lines = commands(text)
    for line, status in lines:
        printed = run_line(line.replace("$old", assignment.removeprefix("old=")), status, tmp_path, "README.md")
    assert len(lines) == 3 and printed.splitlines()[-1] == "PARITY: 20 steps and 1 visit, every stage identical bits"


def test_the_quick_ones_are_there():
    assert set(QUICK) < set(NAMES)


def test_the_list_of_tutorials_names_each():
    overview = (PAGES / "README.md").read_text(encoding="utf-8")
    assert [name for name in NAMES if f"]({name})" not in overview] == []
