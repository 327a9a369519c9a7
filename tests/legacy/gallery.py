"""Pages of `docs/gallery`: what `legacy.inspect` says of one recorded program of each kind.

`python -m tests.legacy.gallery` writes them anew.
"""

from __future__ import annotations

import os

from legacy.saved.report import page
from tests import old_programs
from tests.house import ROOT

FOLDER = os.path.join(ROOT, "docs", "gallery")
#: Rows of a section, as a reader would ask for.
ROWS = 12


def page_path(name: str) -> str:
    """Returns the file of a program's page."""
    return os.path.join(FOLDER, f"{name}.page.txt")


def page_text(name: str) -> str:
    """Returns the page of a recorded program, as `legacy.inspect --rows=12` prints it in the repository's root."""
    graph = os.path.relpath(old_programs.path(name, "graph.meta"), ROOT)
    before = os.getcwd()
    os.chdir(ROOT)
    try:
        sections = page.inspect_graph(graph, old_programs.TRAIN_OPS.get(name, []))
    finally:
        os.chdir(before)
    return "\n".join(page.page_lines(sections, ROWS)).lstrip("\n") + "\n"


def write_pages() -> None:
    """Writes every page."""
    os.makedirs(FOLDER, exist_ok=True)
    for name in old_programs.NAMES:
        with open(page_path(name), "w", encoding="utf-8") as file:
            file.write(page_text(name))


if __name__ == "__main__":
    write_pages()
