"""Sphinx's settings for the documentation site: `make docs` builds it from the Markdown pages and the docstrings.

The pages stay as they are read on GitHub: links between them are paths, and their order on the site stands here.
"""

from __future__ import annotations

import pathlib
import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import parity  # noqa: E402  found by the line above

#: {heading of the navigation: pages under it}.
NAVIGATION = {
    "Tutorials": ["README", "verdict", "workload", "migrate", "keras", "machines"],
    "Prove and explain": ["verify", "coverage", "diagnose", "causes", "lift", "source", "hazards", "gallery/README"],
    "Describe and train": ["workloads", "clusters", "asynchronous", "model_parallel", "study"],
    "Speed": ["speed", "predict", "scaling", "studies/README", "studies/*", "gpu"],
    "Reference": ["commands", "library", "api/workloads", "api/recorders", "api/parity", "versions"],
    "The project": ["architecture", "notes", "/examples/README", "/CONTRIBUTING", "/CHANGELOG"],
}

project = "tower-parity"
version = release = parity.__version__
root_doc = "README"
include_patterns = ["*.md", "examples/*.md", "docs/*.md", "docs/**/*.md"]
exclude_patterns = [".*", "build", "docs/site", "tests", "legacy", "modern", "parity", "workloads"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
napoleon_use_ivar = True

highlight_language = "text"  # of blocks that name none: commands, and what they print

html_theme = "furo"
html_title = f"tower-parity {version}"


def setup(app: Sphinx) -> None:
    """Adds the navigation to the first page, as it is read, and lets docstrings be written as Markdown."""
    app.connect("source-read", add_navigation)
    app.connect("autodoc-process-docstring", translate_docstring, priority=400)  # before napoleon's sections


def add_navigation(app: Sphinx, name: str, source: list[str]) -> None:
    """Appends the tables of contents to the README, which has none of its own.

    Args:
      app: Sphinx.
      name: of the page.
      source: its text, in a list of one.
    """
    if name == root_doc:
        for heading, pages in NAVIGATION.items():
            folder = "docs/tutorials/" if heading == "Tutorials" else "docs/"
            paths = [page if page.startswith("/") else folder + page for page in pages]
            source[0] += "\n".join(
                ["", "```{toctree}", ":hidden:", ":glob:", f":caption: {heading}", "", *paths, "```", ""]
            )


def translate_docstring(app: Sphinx, kind: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Replaces a docstring's Markdown by reStructuredText.

    Args:
      app: Sphinx.
      kind: of the documented thing, such as "module".
      name: of the thing.
      thing: itself.
      options: of the directive.
      lines: of the docstring, which are replaced in place.
    """
    lines[:] = rst_of_markdown("\n".join(lines)).split("\n")


def rst_of_markdown(text: str) -> str:
    """Returns a docstring as reStructuredText: code in backticks, asterisks that are no emphasis, indented code.

    >>> print(rst_of_markdown("Shape `[n, *shape]` of 2 * n:\\n\\n    x = 1"))
    Shape ``[n, *shape]`` of 2 \\* n:
    <BLANKLINE>
    ::
    <BLANKLINE>
        x = 1
    """
    text = re.sub(r"(?m)^(\S.*)\n\n(?= {4,}\S)(?! +>>>)", r"\1\n\n::\n\n", text)
    code_and_text = re.split(r"`([^`]+)`", text)  # text, code, text, code, ..., text
    for number, part in enumerate(code_and_text):
        if number % 2:
            ends_in_a_word = code_and_text[number + 1][:1].isalnum()  # as in `Program`s
            code_and_text[number] = f"``{part}``" + ("\\ " if ends_in_a_word else "")
        else:
            code_and_text[number] = re.sub(r"(?m)^(\s*\*+)|\*", lambda found: found.group(1) or r"\*", part)
    return "".join(code_and_text)
